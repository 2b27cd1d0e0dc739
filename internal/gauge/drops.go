package gauge

// ListenDrops is what the TCP listeners of our own network namespace have turned
// away since each was opened. Two that are equal say that nothing was turned
// away in between, so that the kernel's own counts of it stand where they stood.
type ListenDrops struct {
	Sum     uint64
	Sockets uint64 // the sum of their inodes
	Known   bool
}

// ListenDrops is of the last reading. It is not known where listeners cannot be
// asked for over sock_diag.
func (g *Gauge) ListenDrops() ListenDrops {
	for _, sp := range g.spaces {
		if !sp.own {
			continue
		}
		d := ListenDrops{Known: true}
		for i := range sp.tcp {
			l := &sp.tcp[i]
			d.Sum, d.Sockets = d.Sum+l.Drops.Value, d.Sockets+l.Inode
			d.Known = d.Known && l.Drops.Known
		}
		return d
	}
	return ListenDrops{}
}
