package doctor

// cgroupTmpfs looks at a cgroup near its limit a large part of which is tmpfs:
// it counts as file cache, and cannot be dropped.
//
// https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.stat, shmem)
func cgroupTmpfs(l *look, a *answer, path string) {
	g := l.lastCgroup(path)
	m := &g.Memory
	if !m.Max.Known || m.Max.Unlimited {
		return
	}
	share, used := m.Shmem.PercentOf(m.Max.Value), m.Current.PercentOf(m.Max.Value)
	if !share.AtLeast(hiddenLarge) {
		return
	}
	var w words
	text := func(w *words) string {
		return "Of the limit of " + cgroupName(g) + " (" + w.n("limit", m.Max.Value) + ") " + w.n("tmpfs of limit", share) + " is tmpfs or shared memory (" + w.n("shmem", m.Shmem) +
			"), which counts as file cache and cannot be dropped"
	}
	if !used.AtLeast(100 - lowHeadroom) {
		a.note(Memory, text(&w)+".", &w)
		return
	}
	f := &Finding{Subject: subjectOf(g)}
	f.What = text(&f.words) + "; in all " + f.n("used of limit", used) + " of it is used."
	f.see("anonymous memory", m.Anon)
	f.see("memory.events max", m.EventMax)
	f.over(l)
	f.level(Observed, "both figures stand in memory.stat of one reading; how they came about is not in it")
	f.Cause = "Files in a tmpfs of the container (/dev/shm, /tmp, an emptyDir of medium Memory), or shared memory of its program. They are charged to its limit until somebody deletes them."
	f.not("cache that is given back", "memory.stat counts shmem under file, and the kernel can only swap it")
	f.not("a leak in a process", "of anonymous memory there is less than that")
	f.Now = []string{"Find it in the container (df -h -t tmpfs, ipcs -m) and delete what is not needed."}
	f.Properly = []string{"Give the tmpfs a size (--shm-size, sizeLimit), or write to a disk."}
	f.Settle = []string{"memory.stat an hour later: whether shmem grows."}
	a.found(f)
}
