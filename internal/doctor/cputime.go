package doctor

import "brink/internal/evidence"

// busiest is the CPU time in user and in system mode, in percent, of the stretch
// of time in which both together were most. Of two rows of vmstat the largest of
// each column belong to no time at all.
func (l *look) busiest() (user, system evidence.Value) {
	user = evidence.Missing(evidence.NotSeen, "nothing tells")
	system = user
	for i := range l.Activities {
		x := &l.Activities[i]
		if use := x.User.Plus(x.System); use.Known && !x.SinceBoot && (!user.Known || use.Number > user.Number+system.Number) {
			user, system = x.User, x.System
		}
	}
	return user, system
}

// slowest is how much the CPUs worked in the stretch of time in which they
// waited most for disks, in percent.
func (l *look) slowest() (use, wait evidence.Value) {
	wait = l.iowait()
	for i := range l.Activities {
		if x := &l.Activities[i]; !x.SinceBoot && x.IOWait.Known && x.IOWait.Number == wait.Number {
			return x.User.Plus(x.System), x.IOWait
		}
	}
	return wait, wait
}

// waitsForDisks tells that disks hold up the work, with what shows it. Where no
// memory is read back that is none of the modes, and not in order either.
func (l *look) waitsForDisks(a *answer) {
	use, wait := l.slowest()
	var w words
	text := "The CPUs are busy " + w.n("CPU use", use) + " of the time, and wait for disks " + w.n("iowait", wait) + " of it"
	if l.load1().Over(l.cpus()).AtLeast(hangsLoad) {
		text += "; the load of " + w.n("load", l.load1()) + " on " + w.count("CPUs", l.cpus(), "CPU") + " counts those that wait"
	}
	io := stallOf(l.Case, func(r *evidence.Reading) evidence.Pressure { return r.PSI.IO })
	if !io.full.lasts(iowaitThrash) {
		a.note(CPU, text+".", &w)
		return
	}
	text += ", and for " + w.n("PSI io full", io.full.most()) + " of the time nothing could run for want of them"
	if l.swap.in.AtLeast(swapInThrash) || l.stalled() {
		a.note(CPU, text+".", &w)
		return
	}
	a.cannotTell(CPU, text+". The disks hold up the work; it is not memory that is read back, and none of the modes here.",
		"Who reads or writes: iotop, pidstat -d, /proc/PID/io; iostat -x for the disk itself.", &w)
}

// cpuLeft says that there was CPU time left where the load is large.
func (l *look) cpuLeft(f *Finding) string {
	user, system := l.busiest()
	use := user.Plus(system)
	switch {
	case !use.Known:
		return ""
	case use.Below(cpuLeftMuch):
		return "; the CPUs themselves are busy " + f.n("CPU use", use) + " of the time only"
	}
	return "; the CPUs are busy " + f.n("CPU use", use) + " of the time, which is not all of it"
}

// cpuLeftMuch is in percent of all CPU time; it only chooses a word.
const cpuLeftMuch = 40
