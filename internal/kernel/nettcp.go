package kernel

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"strconv"
)

// Listeners reads the listening sockets from the text tables /proc/net/tcp and
// tcp6: those of the network namespace of a process, or with pid 0 of our own.
// It is for captured trees, other namespaces and kernels without tcp_diag;
// it allocates, and the tables have no backlog.
//
// https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html
func (f *FS) Listeners(pid int) ([]Listener, error) {
	var list []Listener
	err := f.tcpTables(pid, func(s *diagSocket) {
		if s.state == tcpListen {
			l := s.listener()
			l.Backlog = Num{}
			list = append(list, l)
		}
	})
	return list, err
}

// Queued reads the connections to a local port that wait to be accepted from
// the same tables as [FS.Listeners]. Port 0 stands for every port. How long
// ago data arrived is unknown.
func (f *FS) Queued(pid int, port uint16) ([]QueuedConn, error) {
	var list []QueuedConn
	err := f.tcpTables(pid, func(s *diagSocket) {
		waiting := s.state == tcpEstablished || s.state == tcpCloseWait
		if waiting && s.inode == 0 && (port == 0 || s.local.Port() == port) {
			list = append(list, s.queued())
		}
	})
	return list, err
}

func (f *FS) tcpTables(pid int, each func(*diagSocket)) error {
	dir := "proc/net/"
	if pid > 0 {
		dir = "proc/" + strconv.Itoa(pid) + "/net/"
	}
	if err := f.tcpTable(dir+"tcp", each); err != nil {
		return err
	}
	if err := f.tcpTable(dir+"tcp6", each); !errors.Is(err, ErrUnavailable) {
		return err
	}
	return nil // no IPv6
}

func (f *FS) tcpTable(name string, each func(*diagSocket)) error {
	t, err := openFile(f.at, "", name)
	if err != nil {
		return err
	}
	defer t.close()
	b, err := t.read()
	if err != nil {
		return err
	}
	return t.blame(parseTCPTable(b, each))
}

// parseTCPTable calls each for every row that it understands. The first line
// is the heading.
func parseTCPTable(b []byte, each func(*diagSocket)) error {
	var bad faults
	_, b = cutLine(b)
	for n := 2; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		s, ok := parseTCPRow(line)
		if !ok {
			bad.add(n, "socket", bytes.TrimSpace(line), "a row of the table")
			continue
		}
		each(&s)
	}
	return bad.err()
}

// parseTCPRow reads: sl local remote st tx:rx tr:when retrnsmt uid timeout inode.
func parseTCPRow(line []byte) (s diagSocket, ok bool) {
	var field [10][]byte
	for i := range field {
		if field[i], line = cutField(line); len(field[i]) == 0 {
			return s, false
		}
	}
	tx, rx, found := bytes.Cut(field[4], []byte{':'})
	state, err0 := strconv.ParseUint(string(field[3]), 16, 8)
	rqueue, err1 := strconv.ParseUint(string(rx), 16, 32)
	wqueue, err2 := strconv.ParseUint(string(tx), 16, 32)
	uid, err3 := strconv.ParseUint(string(field[7]), 10, 32)
	inode, err4 := strconv.ParseUint(string(field[9]), 10, 32)
	if !found || errors.Join(err0, err1, err2, err3, err4) != nil {
		return s, false
	}
	local, okLocal := parseTCPAddr(field[1])
	remote, okRemote := parseTCPAddr(field[2])
	return diagSocket{
		state: uint8(state), local: local, remote: remote,
		rqueue: uint32(rqueue), wqueue: uint32(wqueue),
		uid: uint32(uid), inode: uint32(inode),
	}, okLocal && okRemote
}

// parseTCPAddr reads ADDRESS:PORT in hexadecimal. The kernel prints the address
// as 32-bit words in the byte order of the machine, which is taken to be ours.
func parseTCPAddr(b []byte) (netip.AddrPort, bool) {
	host, port, _ := bytes.Cut(b, []byte{':'})
	p, err := strconv.ParseUint(string(port), 16, 16)
	var ip [16]byte
	if err != nil || hex.DecodedLen(len(host)) > len(ip) {
		return netip.AddrPort{}, false
	}
	n, err := hex.Decode(ip[:], host)
	if err != nil || (n != 4 && n != 16) {
		return netip.AddrPort{}, false
	}
	for word := ip[:n]; len(word) > 0; word = word[4:] {
		native.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, _ := netip.AddrFromSlice(ip[:n])
	return netip.AddrPortFrom(addr.Unmap(), uint16(p)), true
}
