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
	"syscall"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

// One machine from boot to nothing: the plan's size as the guest's own kernel
// reports it, an app that answers over the guest's network, and nothing left.
func TestAPlanIsAMachineOfItsOwn(t *testing.T) {
	plan := experiment.Plan{CPUs: 1, MemoryMB: 1855, SwapMB: 2048, SwapIOPS: 150, SwapMBs: 12,
		Share: experiment.Share{BallastMB: 64, CacheMB: 32, CacheEvery: experiment.Duration(5 * time.Second)}}
	s, o := open(t, plan, time.Second)
	pid, dir := s.process.PID(), s.dir.path
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
	for _, name := range []string{"cpus", "memory", "swap", "swap_iops", "swap_mb_s", "machine"} {
		if l := limitNamed(s.Limits(), name); !l.Applied {
			t.Errorf("limit %s: %+v, want it applied", name, l)
		}
	}
	deployed := o.Events(wire.Deployed)
	if len(deployed) != 1 {
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

// A port on which nobody listens is refused by the guest's kernel, and two
// machines at the same address do not meet.
func TestMachinesDoNotMeet(t *testing.T) {
	one, _ := open(t, small, 0)
	two, _ := open(t, small, 0)
	app := experiment.App{Name: "web", Runtime: "command", Port: 8000, StartLimit: experiment.Duration(2 * time.Minute),
		Command: []string{"python3", "-c", "import http.server as h, os\nclass H(h.BaseHTTPRequestHandler):\n  def do_GET(s): s.send_response(200); s.end_headers()\nh.HTTPServer((os.environ['BIND'], int(os.environ['PORT'])), H).serve_forever()"}}
	ep, err := one.Deploy(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	c, err := one.Dial()(t.Context(), ep.Addr)
	if err != nil {
		t.Errorf("the machine with the app: %v", err)
	} else {
		c.Close()
	}
	if c, err := two.Dial()(t.Context(), ep.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the machine without it: %v, %v; want it refused", c, err)
	}
	_, err = two.Deploy(t.Context(), shell("dies", "echo no licence >&2; exit 3"))
	var start *host.StartError
	if !errors.As(err, &start) || !strings.Contains(start.Reason, "no licence") {
		t.Errorf("error %v, want a StartError with the last line", err)
	}
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
	if err != nil || accel == "" || slower <= 0 {
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
