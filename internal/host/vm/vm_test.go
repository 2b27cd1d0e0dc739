package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/guest"
	"brink/internal/host/vm/qemu"
	"brink/internal/wire"
)

// One machine from boot to nothing: the plan's size as the guest's own kernel
// reports it, an app that answers over the guest's network, and nothing left.
func TestAPlanIsAMachineOfItsOwn(t *testing.T) {
	plan := experiment.Plan{CPUs: 1, MemoryMB: 1855, SwapMB: 2048, SwapIOPS: 150, SwapMBs: 12,
		Share: experiment.Share{BallastMB: 64, SwappedMB: 400, CacheMB: 32, CacheEvery: experiment.Duration(5 * time.Second)}}
	s, o := open(t, plan, time.Second)
	pid, dir := s.process.PID(), s.dir.path
	testHungUp(t, s)
	if s.init <= 0 || s.took > 2*s.init {
		t.Errorf("agent ready after %s, init after %s; want at most twice as long", s.took, s.init)
	}
	app := flask("web")
	app.AllocMB = 8
	ep, err := s.Deploy(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return s.Dial()(ctx, addr) }}}
	resp, err := client.Get("http://" + ep.Addr + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Server"), "gunicorn") {
		t.Errorf("/ping: %s %q, %v", resp.Status, body, err)
	}
	boxed := flask("boxed")
	boxed.Deploy, boxed.MemoryLimitMB, boxed.AllocMB = "container", 120, 8
	if _, err := s.Deploy(t.Context(), boxed); err != nil {
		t.Fatal(err)
	}
	var cg wire.Sample
	o.Await(t, "a sample of the container", func() bool { cg = last(o.Samples("boxed")); return cg.Workers > 0 })
	if cg.CgMemory < 8<<20 || cg.CgMemory > 120<<20 || cg.RSS < 8<<20 || cg.Workers != 1 {
		t.Errorf("a container of 120 MB with 8 MB allocated: %+v", cg)
	}
	testPriority(t, s, o)
	testSwapSpeed(t, s, o)
	o.Await(t, "a sample of the plan", func() bool { return len(o.Samples("")) > 0 })
	sample := o.Samples("")[0]
	for _, c := range []struct {
		what string
		got  int64
		want int64
	}{{"MemTotal", sample.MemTotal, int64(plan.MemoryMB)}, {"SwapTotal", sample.SwapTotal, int64(plan.SwapMB)}} {
		if mb := c.got >> 20; mb < c.want-8 || mb > c.want+8 {
			t.Errorf("%s is %d MB in the guest, want %d within 8", c.what, mb, c.want)
		}
	}
	for _, name := range []string{"cpus", "memory", "swap", "swap_iops", "swap_mb_s", "share in swap", "machine"} {
		if l := limitNamed(s.Limits(), name); !l.Applied {
			t.Errorf("limit %s: %+v, want it applied", name, l)
		}
	}
	deployed := o.Events(wire.Deployed)
	if len(deployed) != 4 {
		t.Fatalf("events %+v", o.Events())
	}
	// The guest's clock starts from a whole second; what is heard is by ours.
	if age := time.Since(time.Unix(0, deployed[0].AtNs)); age < 0 || age > 5*time.Minute {
		t.Errorf("deployed %s ago", age)
	}
	if _, uncertainty := s.Clock(); uncertainty <= 0 || uncertainty > time.Second {
		t.Errorf("the clocks were compared to %s", uncertainty)
	}
	clocks := slices.DeleteFunc(o.Logs(), func(l wire.Log) bool { return l.Stream != clockStream })
	if len(clocks) == 0 || clocks[0].App != "" || !regexp.MustCompile(`^\[INFO\] ahead_ns=-?\d+ uncertainty_ns=\d+$`).MatchString(clocks[0].Line) {
		t.Errorf("what is told of the clocks: %+v", clocks)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("Close twice: %v", err)
	}
	if alive(pid) {
		t.Error("QEMU is alive after Close")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the machine's directory is still there: %v", err)
	}
	if files := left(t, s.host); len(files) > 0 {
		t.Errorf("left over: %v", files)
	}
}

// testHungUp looks for the ends of the machine's sockets that are this process's,
// which have the names of what it listened on (proc_net(5)): that on which QEMU
// takes commands is closed, since there is none left to give.
func testHungUp(t *testing.T, s *session) {
	t.Helper()
	sockets, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{agentSocket: true, controlSocket: false} {
		if got := strings.Contains(string(sockets), s.dir.file(name)); got != want {
			t.Errorf("%s is open: %v, want %v", name, got, want)
		}
	}
}

// testPriority asks the guest for the scheduling policies of the agent's threads
// and of an app: field 41 of their stat (proc_pid_stat(5)), 2 for SCHED_RR, 0 for
// SCHED_OTHER, which the one thread has that starts the apps.
func testPriority(t *testing.T, s *session, o *agenttest.Seen) {
	t.Helper()
	_, _ = s.Deploy(t.Context(), shell("policies", "cat /proc/1/task/*/stat /proc/self/stat | cut -d' ' -f41; exit 1"))
	var lines []string
	for _, l := range o.Logs() {
		if l.App == "policies" {
			lines = append(lines, l.Line)
		}
	}
	normal := slices.DeleteFunc(slices.Clone(lines), func(policy string) bool { return policy == "2" })
	if len(lines) < 4 || !slices.Equal(normal, []string{"0", "0"}) || lines[len(lines)-1] != "0" {
		t.Errorf("scheduling policies %q, want the agent's threads real-time but for one, and the app not", lines)
	}
}

// testSwapSpeed has the guest read 36 MB of the swap drive past its cache: at
// 12 MB a second that takes 3 s, less what QEMU lets pass at once.
func testSwapSpeed(t *testing.T, s *session, o *agenttest.Seen) {
	t.Helper()
	_, _ = s.Deploy(t.Context(), shell("speed", `for d in /sys/block/nvme*; do
		grep -qw `+guest.SwapDrive+` $d/device/serial || continue
		s=$(date +%s%N); dd if=/dev/${d##*/} of=/dev/null iflag=direct bs=1M count=36; echo took $((($(date +%s%N) - s) / 1000000))
	done; exit 1`))
	for _, l := range o.Logs() {
		if ms, ok := strings.CutPrefix(l.Line, "took "); ok && l.App == "speed" {
			if n, err := strconv.Atoi(ms); err != nil || n < 2500 {
				t.Errorf("36 MB of the swap drive took %s ms, want at least 2,500", ms)
			}
			return
		}
	}
	t.Errorf("the swap drive was not read: %+v", o.Logs())
}

func TestEnvironmentComesFromInside(t *testing.T) {
	h := testHost(t)
	facts, err := h.Environment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range facts {
		got[f.Name] = f.Value
	}
	img, err := h.theImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"kernel": img.Kernel, "distribution": "Debian GNU/Linux 12", "python": "3.11", "flask": "2.", "gunicorn": "20.", "gevent": "2",
		"cgroup": "v2", "pressure (PSI)": "available", "virtual machine": "yes", "accelerator": "(", "image": img.ID,
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s is %q, want it to contain %q", name, got[name], want)
		}
	}
	if node, _, _ := strings.Cut(img.Node, "."); !strings.HasPrefix(got["node"], node) {
		t.Errorf("node is %q, the image has %q", got["node"], img.Node)
	}
	accel, slower, err := h.Emulation(t.Context())
	// Translated code takes longer, whatever else this machine does meanwhile.
	if err != nil || accel != qemu.TCG && accel != qemu.KVM || accel == qemu.TCG && slower < 1.5 || slower <= 0 {
		t.Errorf("Emulation: %s, %g, %v", accel, slower, err)
	}
	// The report reads it as a number.
	if factor, err := strconv.ParseFloat(got["speed factor"], 64); err != nil || math.Abs(factor/slower-1) > 0.01 {
		t.Errorf("speed factor %q, want %.3g", got["speed factor"], slower)
	}
}

// runLab is a lab that opens a plan and waits to be killed.
func runLab(args []string) error {
	s, err := New(Options{Brink: args[0], Cache: args[1]}).Open(context.Background(), small, 0, agenttest.NewSeen())
	if err != nil {
		return err
	}
	fmt.Println(s.(*session).process.PID(), s.(*session).dir.path)
	select {}
}

func TestNoMachineOutlivesAKilledLab(t *testing.T) {
	h := testHost(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := h.cache()
	if err != nil {
		t.Fatal(err)
	}
	lab := exec.Command(exe, "lab", h.opts.Brink, cache)
	lab.Stderr = os.Stderr
	out, err := lab.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	killErr := lab.Process.Kill()
	_ = lab.Wait()
	if err != nil || killErr != nil {
		t.Fatal(err, killErr)
	}
	pid, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	awaitGone(t, number)
	// Its sockets go with the next machine.
	open(t, small, 0)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}
