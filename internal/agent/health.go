package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
)

// maxHealthBody bounds the answer: an app that answers endlessly is not healthy.
const maxHealthBody = 64 << 10

// pinging is how an app is asked for its health.
type pinging struct {
	// The pause between requests grows from first to last.
	first, last time.Duration
	// limit bounds one request. A request that is given up stays in the accept
	// queue until a worker serves it.
	limit time.Duration
}

// health asks one app's /health from inside the host.
type health struct {
	clock  clock.Clock
	addr   netip.AddrPort
	ping   pinging
	client *http.Client
}

func newHealth(clk clock.Clock, addr netip.AddrPort, ping pinging) *health {
	return &health{clock: clk, addr: reachable(addr), ping: ping, client: &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives:      true, // a kept connection could hold a worker
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHealthBody,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reachable replaces a wildcard address, which can be listened on but not
// dialled, by loopback.
func reachable(addr netip.AddrPort) netip.AddrPort {
	switch {
	case !addr.Addr().IsUnspecified():
		return addr
	case addr.Addr().Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
	default:
		return netip.AddrPortFrom(netip.IPv6Loopback(), addr.Port())
	}
}

// errCut is the outcome of a request that the end of its context cut off
// before it told anything.
var errCut = errors.New("could not be asked in time")

// await polls until the app answers 200 and returns the pid that the answer
// names, 0 if it names none. When ctx ends first, the error says what the app
// did last.
func (h *health) await(ctx context.Context) (pid int, err error) {
	did := errCut
	for pause := h.ping.first; ; pause = min(pause*3/2, h.ping.last) {
		pid, err := h.ask(ctx)
		if err == nil {
			return pid, nil
		}
		if err != errCut {
			did = err
		}
		if h.clock.Sleep(ctx, pause) != nil {
			return 0, did
		}
	}
}

// ask makes one request. Its errors say what the app did instead of answering
// 200, and are meant to follow "which".
func (h *health) ask(ctx context.Context) (pid int, err error) {
	ctx, cancel := withLimit(ctx, h.clock, h.ping.limit)
	defer cancel()
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected = true },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr.String()+"/health", nil)
	if err != nil {
		return 0, err
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return 0, h.explain(ctx, connected, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("answered /health with status %d", resp.StatusCode)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxHealthBody+1))
	switch {
	case n > maxHealthBody:
		return 0, fmt.Errorf("answered /health with more than %d KiB", maxHealthBody>>10)
	case ctx.Err() != nil:
		return 0, fmt.Errorf("began an answer to /health and did not end it within %s", h.ping.limit)
	case err != nil:
		return 0, fmt.Errorf("broke off its answer to /health (%w)", err)
	}
	// Absent or malformed means that the app does not name itself.
	pid, _ = strconv.Atoi(resp.Header.Get("X-Brink-Pid"))
	return pid, nil
}

func (h *health) explain(ctx context.Context, connected bool, err error) error {
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("has no listener on %s", h.addr)
	case ctx.Err() != nil && connected:
		return errors.New("accepted the connection but did not answer")
	case ctx.Err() != nil:
		return errCut
	case errors.Is(err, unix.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("closed the connection without an answer")
	case connected:
		return errors.New("answered /health with something that is not HTTP")
	}
	return fmt.Errorf("cannot be reached on %s (%w)", h.addr, err)
}

// withLimit is context.WithTimeout on a given clock.
func withLimit(ctx context.Context, clk clock.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		if clk.Sleep(ctx, d) == nil {
			cancel(context.DeadlineExceeded)
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
