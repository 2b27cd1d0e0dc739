package kernel

import "slices"

// Connections appends the connections to the given local ports, accepted or
// not, from the same tables as [FS.Listeners]; no ports stand for all. How long
// ago data came or went, and in how many segments, is unknown.
func (f *FS) Connections(pid int, ports []uint16, dst []Connection) ([]Connection, error) {
	err := f.tcpTables(pid, func(s *diagSocket) {
		open := s.state == tcpEstablished || s.state == tcpCloseWait
		if open && (len(ports) == 0 || slices.Contains(ports, s.local.Port())) {
			dst = append(dst, Connection{QueuedConn: s.queued(), Inode: uint64(s.inode), Unsent: s.wqueue})
		}
	})
	return dst, err
}
