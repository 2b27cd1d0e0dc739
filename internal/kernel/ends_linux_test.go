package kernel

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A process has ended when it can be waited for, and is told of once.
func TestEndsTellsOfAProcessThatIsNotReaped(t *testing.T) {
	e := must[*Ends](t)(NewEnds())
	t.Cleanup(func() { e.Close() })
	_, lasting := sleeping(t)
	cmd, p := sleeping(t)
	for _, p := range []*Process{lasting, p} {
		if err := e.Watch(p); err != nil {
			t.Fatal(err)
		}
	}
	wantEqual(t, "while both live", must[bool](t)(e.Any()), false)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end is told", func() bool { return must[bool](t)(e.Any()) })
	var s PIDStat
	if err := p.Stat(&s); err != nil || s.State != 'Z' {
		t.Errorf("stat %+v, %v, want a process that waits to be reaped", s, err)
	}
	wantEqual(t, "a second time", must[bool](t)(e.Any()), false)

	if err := p.Close(); err != nil {
		t.Error(err)
	}
	wantEqual(t, "after it was closed", must[bool](t)(e.Any()), false)
}

// The number of a process that was reaped may be anybody's.
func TestEndsDoesNotWatchAProcessThatIsGone(t *testing.T) {
	e := must[*Ends](t)(NewEnds())
	t.Cleanup(func() { e.Close() })
	cmd, p := sleeping(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = cmd.Process.Wait()
	if err := e.Watch(p); !errors.Is(err, ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
	captured := must[*Process](t)(open(t, "testdata/linux-3.10").OpenProcess(812))
	t.Cleanup(func() { captured.Close() })
	if err := e.Watch(captured); !errors.Is(err, ErrUnavailable) {
		t.Errorf("of a captured tree: %v, want ErrUnavailable", err)
	}
}

// A watch that is closed before its processes leaves no descriptor behind and
// harms none.
func TestEndsMayBeClosedFirst(t *testing.T) {
	e := must[*Ends](t)(NewEnds())
	_, p := sleeping(t)
	if err := e.Watch(p); err != nil {
		t.Fatal(err)
	}
	pidfd := p.end.pidfd
	if err := errors.Join(e.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if _, err := unix.FcntlInt(uintptr(pidfd), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("the descriptor: %v, want EBADF", err)
	}
}

// Both sources move with every fork, and stay where they are without one as far
// as others let them: this asks for the first.
func TestForksMoveWithAFork(t *testing.T) {
	for name, open := range map[string]func() (*Reader[Forks], error){
		"as opened": live(t).ForksReader,
		"stat": func() (*Reader[Forks], error) {
			return newReader(live(t).at, "", part[Forks]{name: "proc/stat", parse: parseForks, single: true})
		},
	} {
		r := must[*Reader[Forks]](t)(open())
		t.Cleanup(func() { r.Close() })
		var before, after Forks
		if err := r.Read(&before); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(os.Args[0], "-test.run", "^$").Run(); err != nil {
			t.Fatal(err)
		}
		if err := r.Read(&after); err != nil || !after.Mark.Known || after == before {
			t.Errorf("%s: %v then %v (%v)", name, before, after, err)
		}
	}
}

// What stands in for /proc/loadavg is not asked.
func TestForksOfACapturedTree(t *testing.T) {
	f, dir := tree(t, map[string]string{"proc/stat": "cpu  1 2\nprocesses 2915\nprocs_running 1\n", "proc/loadavg": "0.1 0.2 0.3 1/80 77\n"})
	r := must[*Reader[Forks]](t)(f.ForksReader())
	t.Cleanup(func() { r.Close() })
	var s Forks
	if err := r.Read(&s); err != nil || s.Mark != num(2915) {
		t.Errorf("%+v, %v", s, err)
	}
	write(t, dir+"/proc/stat", "cpu 1\nprocesses x\n")
	wantFieldError(t, r.Read(&s), "proc/stat", 2, "processes")
	write(t, dir+"/proc/stat", "cpu 1\n")
	if err := r.Read(&s); err == nil || s.Mark.Known {
		t.Errorf("without the line: %+v, %v", s, err)
	}
	for text, want := range map[string]Num{"0.20 0.18 0.12 1/80 11206\n": num(11206), "": {}, "0.1 0.2 0.3 1/80 x\n": {}} {
		s = Forks{}
		if err := parseLastPID(&s, []byte(text)); (err == nil) != want.Known || s.Mark != want {
			t.Errorf("%q: %v, %v, want %v", text, s.Mark, err, want)
		}
	}
}
