package kernel

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A process's sockets and epoll instances, against what this process knows of
// its own.
func TestFDs(t *testing.T) {
	p := must[*Process](t)(live(t).OpenProcess(os.Getpid()))
	defer p.Close()
	sock := must[int](t)(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	ep := must[int](t)(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
	defer unix.Close(ep)
	var st unix.Stat_t
	if err := unix.Fstat(sock, &st); err != nil {
		t.Fatal(err)
	}
	fds := must[[]FD](t)(p.FDs(nil))
	for _, want := range []FD{{Number: sock, Inode: st.Ino}, {Number: ep, Epoll: true}} {
		if !slices.Contains(fds, want) {
			t.Errorf("%+v is not among %+v", want, fds)
		}
	}
	inode, used, err := p.SocketAt(sock)
	if inode != st.Ino || !used || err != nil {
		t.Errorf("socket at %d: %d, %v, %v; want %d", sock, inode, used, err, st.Ino)
	}
	if inode, used, err := p.SocketAt(ep); inode != 0 || !used || err != nil {
		t.Errorf("epoll at %d: %d, %v, %v", ep, inode, used, err)
	}
	unix.Close(sock)
	if _, used, err := p.SocketAt(sock); used || err != nil {
		t.Errorf("closed socket at %d: used %v, %v", sock, used, err)
	}
}

// The lowest free descriptor is the one that the process gets next (POSIX).
func TestLowestFreeFD(t *testing.T) {
	cmd, p := sleeping(t)
	_ = cmd
	must[[]FD](t)(p.FDs(nil))
	names := strings.Fields(output(t, "ls", "/proc/"+strconv.Itoa(p.PID())+"/fd"))
	want := 0
	for slices.Contains(names, strconv.Itoa(want)) {
		want++
	}
	wantEqual(t, "lowest free", p.LowestFreeFD(), want)
}

func TestFDsOfDeadProcess(t *testing.T) {
	cmd, p := sleeping(t)
	must[[]FD](t)(p.FDs(nil))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if fds, err := p.FDs(nil); !errors.Is(err, ErrGone) && (err != nil || len(fds) > 0) {
		t.Errorf("listed before: %v, %v", fds, err)
	}
	if _, used, err := p.SocketAt(0); used || err != nil && !errors.Is(err, ErrGone) {
		t.Errorf("descriptor 0: used %v, %v", used, err)
	}
}

func TestFDsOfCapturedTree(t *testing.T) {
	f, dir := tree(t, map[string]string{"proc/9/stat": statLine(9, "x", 3, 100), "proc/9/fd/.keep": ""})
	for fd, link := range map[string]string{"0": "/dev/null", "1": "pipe:[77]", "3": "socket:[15204]", "4": "anon_inode:[eventpoll]", "12": "socket:[15205]", "13": "socket:[", "14": "socket:[x]"} {
		if err := os.Symlink(link, dir+"/proc/9/fd/"+fd); err != nil {
			t.Fatal(err)
		}
	}
	p := must[*Process](t)(f.OpenProcess(9))
	defer p.Close()
	fds := must[[]FD](t)(p.FDs(nil))
	slices.SortFunc(fds, func(a, b FD) int { return a.Number - b.Number })
	if want := []FD{{Number: 3, Inode: 15204}, {Number: 4, Epoll: true}, {Number: 12, Inode: 15205}}; !slices.Equal(fds, want) {
		t.Errorf("fds = %+v, want %+v", fds, want)
	}
}

func TestFDsAllocateNothing(t *testing.T) {
	p := must[*Process](t)(live(t).OpenProcess(os.Getpid()))
	defer p.Close()
	fds := must[[]FD](t)(p.FDs(nil))
	fds = slices.Grow(fds, 64)
	allocs := testing.AllocsPerRun(50, func() {
		fds, _ = p.FDs(fds[:0])
		_, _, _ = p.SocketAt(fds[0].Number)
	})
	wantEqual(t, "allocations", allocs, 0)
}

func TestNetNS(t *testing.T) {
	p := must[*Process](t)(live(t).OpenProcess(os.Getpid()))
	defer p.Close()
	want := strings.TrimSpace(output(t, "stat", "-L", "-c", "%i", "/proc/"+strconv.Itoa(os.Getpid())+"/ns/net"))
	wantEqual(t, "namespace", strconv.FormatUint(must[uint64](t)(p.NetNS()), 10), want)
}

func FuzzFDLink(f *testing.F) {
	for _, link := range []string{"socket:[15204]", "anon_inode:[eventpoll]", "pipe:[1]", "socket:[]", "socket:[18446744073709551616]", "/dev/null", ""} {
		f.Add([]byte(link))
	}
	f.Fuzz(func(t *testing.T, link []byte) {
		inode, epoll := parseFDLink(link)
		if inode != 0 && (epoll || string(link[:8]) != "socket:[") {
			t.Errorf("%q: inode %d, epoll %v", link, inode, epoll)
		}
	})
}

func TestPIDSyscall(t *testing.T) {
	for text, want := range map[string]PIDSyscall{
		"running\n":          {Running: true},
		"-1 0x7ffd 0x7f01\n": {Number: -1},
		"0 0x3 0x7ff 0x1 0x0 0x0 0x0 0x7ffd 0x7f01\n": {Args: [6]uint64{3, 0x7ff, 1}},
	} {
		var s PIDSyscall
		if err := parsePIDSyscall(&s, []byte(text)); err != nil || s != want {
			t.Errorf("%q: %+v, %v, want %+v", text, s, err, want)
		}
	}
	for _, text := range []string{"", "0", "0 3 4 5 6 7 8", "x 0x1", "0 0x1 0x2 0x3"} {
		var s PIDSyscall
		if err := parsePIDSyscall(&s, []byte(text)); err == nil || s != (PIDSyscall{}) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

// A sleeping process waits in clock_nanosleep(2).
func TestSyscallLive(t *testing.T) {
	_, p := sleeping(t)
	var s PIDSyscall
	if err := p.Syscall(&s); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "call", s.Number, unix.SYS_CLOCK_NANOSLEEP)
}

func FuzzPIDSyscall(f *testing.F) {
	f.Add([]byte("0 0x3 0x7ff 0x1 0x0 0x0 0x0 0x7ffd 0x7f01\n"))
	f.Add([]byte("running\n"))
	f.Add([]byte("-1 0x7ffd 0x7f01\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s PIDSyscall
		err := parsePIDSyscall(&s, b)
		if fe := (*FieldError)(nil); err != nil && (!errors.As(err, &fe) || s != PIDSyscall{}) {
			t.Errorf("%q: %+v, %v", b, s, err)
		}
	})
}

func TestIdentity(t *testing.T) {
	cmd, p := sleeping(t)
	if got := must[[]string](t)(p.Cmdline()); !slices.Equal(got, []string{"sleep", "300"}) {
		t.Errorf("cmdline = %q", got)
	}
	wantEqual(t, "exe", must[string](t)(p.Exe()), must[string](t)(os.Readlink("/proc/"+strconv.Itoa(cmd.Process.Pid)+"/exe")))
	if got := must[[]string](t)(p.ThreadNames()); !slices.Equal(got, []string{"sleep"}) {
		t.Errorf("threads = %q", got)
	}
	exe := must[*os.File](t)(p.OpenExe())
	exe.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for name, err := range map[string]error{
		"cmdline": second(p.Cmdline()), "exe": second(p.Exe()), "threads": second(p.ThreadNames()), "namespace": second(p.NetNS()),
	} {
		if !errors.Is(err, ErrGone) {
			t.Errorf("%s of a dead process: %v, want ErrGone", name, err)
		}
	}
}

// Descriptors that are close together and far apart, against what the kernel
// lists (ls).
func TestFDsFarApart(t *testing.T) {
	p := must[*Process](t)(live(t).OpenProcess(os.Getpid()))
	defer p.Close()
	sock := must[int](t)(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	defer unix.Close(sock)
	var st unix.Stat_t
	if err := unix.Fstat(sock, &st); err != nil {
		t.Fatal(err)
	}
	const far, farther = 700, 900
	for _, to := range []int{far, farther} {
		if err := unix.Dup3(sock, to, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(to)
	}
	fds := must[[]FD](t)(p.FDs(nil))
	for _, number := range []int{sock, far, farther} {
		if want := (FD{Number: number, Inode: st.Ino}); !slices.Contains(fds, want) {
			t.Errorf("%+v is not among %+v", want, fds)
		}
	}
	met := p.FDsMet()
	if n := p.FDCount(); n.Known && n.Value != uint64(met) {
		t.Errorf("%v descriptors are in use, %d were met", n, met)
	}
	few, more, err := p.FirstFDs(met-1, nil)
	if err != nil || !more || slices.Contains(few, FD{Number: farther, Inode: st.Ino}) {
		t.Errorf("all but the last: %+v, more %v, %v", few, more, err)
	}
	if _, more, err := p.FirstFDs(met, nil); err != nil || more {
		t.Errorf("all: more %v, %v", more, err)
	}
}

// What is listed first and further must be what the kernel lists as a whole; once
// another file is open the first part no longer counts.
func TestFurtherFDs(t *testing.T) {
	p := must[*Process](t)(live(t).OpenProcess(os.Getpid()))
	defer p.Close()
	pair := must[[2]int](t)(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	const far = 800
	if err := unix.Dup3(pair[1], far, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	for _, fd := range []int{pair[0], pair[1], far} {
		defer unix.Close(fd)
	}
	all := must[[]FD](t)(p.FDs(nil))
	counted := p.FDCount().Known // since Linux 6.2; before, it always begins again
	for most := 1; most <= p.FDsMet(); most++ {
		first, _, err := p.FirstFDs(most, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !counted {
			first = nil
		}
		further := must[[]FD](t)(p.FurtherFDs(p.FDMark(), math.MaxInt, nil))
		if got := append(first, further...); !slices.Equal(got, all) {
			t.Errorf("after %d: %+v, want %+v", most, got, all)
		}
	}
	if _, _, err := p.FirstFDs(3, nil); err != nil {
		t.Fatal(err)
	}
	mark := p.FDMark()
	another := must[int](t)(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	defer unix.Close(another)
	got, want := must[[]FD](t)(p.FurtherFDs(mark, math.MaxInt, nil)), must[[]FD](t)(p.FDs(nil))
	if !slices.Equal(got, want) {
		t.Errorf("with another file open: %+v, want %+v", got, want)
	}
}

// The sockets that this process tells of itself are those that /proc shows.
func TestOwnSockets(t *testing.T) {
	pair := must[[2]int](t)(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	var want []uint64
	for _, entry := range must[[]os.DirEntry](t)(os.ReadDir("/proc/self/fd")) {
		link, _ := os.Readlink("/proc/self/fd/" + entry.Name()) // that of the list itself is gone
		if inode, _ := parseFDLink([]byte(link)); inode != 0 {
			want = append(want, inode)
		}
	}
	got := must[[]uint64](t)(live(t).OwnSockets())
	slices.Sort(got)
	slices.Sort(want)
	if len(want) < 2 || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A link that is longer than most is read whole.
func TestLongLink(t *testing.T) {
	dir := t.TempDir()
	for _, length := range []int{1, 127, 128, 129, 4000} {
		name := filepath.Join(dir, strconv.Itoa(length))
		want := strings.Repeat("x", length)
		if err := os.Symlink(want, name); err != nil {
			t.Fatal(err)
		}
		if got := must[string](t)(live(t).at.readlink(name[1:])); got != want {
			t.Errorf("a link of %d bytes is read as one of %d", length, len(got))
		}
	}
}

// A process that was only approached tells its files, and no more until it is
// met.
func TestApproach(t *testing.T) {
	cmd, _ := sleeping(t)
	p := must[*Process](t)(live(t).Approach(cmd.Process.Pid))
	defer p.Close()
	if _, err := p.FDs(nil); err != nil || p.FDsMet() < 3 || p.StartTicks() != 0 {
		t.Errorf("%d descriptors, started at %d: %v", p.FDsMet(), p.StartTicks(), err)
	}
	if err := p.Meet(); err != nil || p.StartTicks() == 0 || p.LastStat().PPID != os.Getpid() {
		t.Errorf("started at %d, parent %d: %v", p.StartTicks(), p.LastStat().PPID, err)
	}
	if got := must[[]string](t)(p.Cmdline()); !slices.Equal(got, []string{"sleep", "300"}) {
		t.Errorf("its command line is %q", got)
	}
	q := must[*Process](t)(live(t).Approach(cmd.Process.Pid))
	defer q.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := q.FDs(nil); !errors.Is(err, ErrGone) {
		t.Errorf("files of one that has ended: %v", err)
	}
	if err := q.Meet(); !errors.Is(err, ErrGone) {
		t.Errorf("meeting one that has ended: %v", err)
	}
}
