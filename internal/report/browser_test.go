package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// These tests look at the HTML report in a real browser.

// chromium is the browser of all tests of the package.
var chromium struct {
	sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(code)
}

// browser is one Chromium; each test opens tabs of its own in it.
func browser(t *testing.T) context.Context {
	t.Helper()
	if !HasPictures() {
		t.Fatal("the chart libraries are not in internal/report/assets/vendor: run `make build`")
	}
	chromium.Do(startChromium)
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	return chromium.ctx
}

func startChromium() {
	path, err := exec.LookPath("chromium")
	if err != nil {
		chromium.err = errors.New("chromium is not on this machine: install the package chromium")
		return
	}
	profile, err := os.MkdirTemp("", "report-chromium-")
	if err != nil {
		chromium.err = err
		return
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.UserDataDir(profile))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	chromium.ctx = ctx
	chromium.stop = func() {
		cancel()
		cancelAlloc()
		os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		chromium.err = fmt.Errorf("chromium does not start: %w", err)
	}
}

// tab is a page with everything that it complained about or asked for.
type tab struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	problems []string
	requests []string
	dialogs  []string
}

type look struct {
	width, height int64
	dark, phone   bool
}

var desktop = look{width: 1200, height: 900}

// open renders the model to a file and opens it from there, as a reader does.
func open(t *testing.T, browser context.Context, m *Model, l look) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := RenderHTML(f, m); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tb := &tab{t: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(tb.hear))
	ctx, cancelTime := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(func() { cancelTime(); cancel() })
	tb.Context = ctx
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	call(tb, network.Enable, network.EnableParams{})
	call(tb, cdplog.Enable, cdp.Empty{})
	call(tb, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.phone})
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	tb.do(chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS(`html[data-ready="yes"]`)))
	return tb
}

func (tb *tab) hear(event any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		said := "console." + string(e.Type) + ":"
		for _, a := range e.Args {
			said += " " + string(a.Value) + a.Description
		}
		tb.problems = append(tb.problems, said)
	case *runtime.EventExceptionThrown:
		tb.problems = append(tb.problems, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *cdplog.EventEntryAdded:
		tb.problems = append(tb.problems, fmt.Sprintf("log %s: %s", e.Entry.Level, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file://") {
			tb.requests = append(tb.requests, e.Request.URL)
		}
	case *page.EventJavascriptDialogOpening:
		tb.dialogs = append(tb.dialogs, e.Message)
		go func() {
			_, _ = chromedp.Call(tb.Context, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	}
}

func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.Context, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// call sends a command of the protocol.
func call[P, R any](tb *tab, cmd cdp.Command[P, R], params P) R {
	tb.t.Helper()
	r, err := chromedp.Call(tb.Context, cmd, params)
	if err != nil {
		tb.t.Fatal(err)
	}
	return r
}

// eval evaluates an expression in the page.
func eval[T any](tb *tab, js string, opts ...chromedp.EvaluateOption) T {
	tb.t.Helper()
	v, err := chromedp.Run(tb.Context, chromedp.Evaluate[T](js, opts...))
	if err != nil {
		tb.t.Fatal(err)
	}
	return v
}

// quiet checks that the page neither complained nor asked for anything.
func (tb *tab) quiet() {
	tb.t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for what, list := range map[string][]string{"problems": tb.problems, "requests beyond file://": tb.requests, "dialogs": tb.dialogs} {
		if len(list) > 0 {
			tb.t.Errorf("%s:\n%s", what, strings.Join(list, "\n"))
		}
	}
}
