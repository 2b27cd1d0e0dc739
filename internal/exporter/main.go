package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"brink/internal/gauge"
)

// Exit codes, those of brink.
const (
	exitDone   = 0
	exitInput  = 2
	exitBroken = 3
)

const usage = `Serve how busy the workers of listening servers are, for Prometheus.

Usage:
  brink-exporter ADDRESS [flags]

ADDRESS is a port, which is then on 127.0.0.1, or an address with a port, such
as 192.0.2.1:9464. brink watch --prometheus ADDRESS starts this program.

Flags:
`

// soonest is the shortest time between two readings.
const soonest = 100 * time.Millisecond

// options is what the program was asked for.
type options struct {
	address  netip.AddrPort
	listener net.Listener
	config   gauge.Config
	every    time.Duration
	lasts    time.Duration
	quiet    bool
}

// Main is the program. It returns the exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal no longer waits
	return run(ctx, args, os.Stdout, os.Stderr)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return exitDone
	}
	if err == nil {
		err = o.listen()
	}
	code := exitInput
	if err == nil {
		code, err = exitBroken, serve(ctx, o, stderr)
	}
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "brink-exporter: %v\n", err)
	return code
}

func (o *options) listen() (err error) {
	network := "tcp4"
	if o.address.Addr().Is6() {
		network = "tcp6" // [::] alone would be all of IPv4 as well
	}
	o.listener, err = net.Listen(network, o.address.String())
	return err
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	var listen []string
	f := pflag.NewFlagSet("brink-exporter", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringArrayVar(&listen, "listen", nil, "only servers on this `address`: :8000, 127.0.0.1:8000 or unix:/run/app.sock (repeatable)")
	f.IntSliceVar(&o.config.PIDs, "pid", nil, "only the server of this `process` (repeatable)")
	f.DurationVar(&o.every, "every", time.Second, "time between readings, at least 100ms")
	f.DurationVar(&o.lasts, "for", 0, "stop after this time (default: until ctrl-c)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not say where the metrics are")
	f.Usage = func() { fmt.Fprint(stdout, usage+f.FlagUsages()) }
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, text := range listen {
		address, err := gauge.ParseAddress(text)
		if err != nil {
			return o, fmt.Errorf("--listen %w", err)
		}
		o.config.Listen = append(o.config.Listen, address)
	}
	var err error
	switch {
	case f.NArg() != 1:
		return o, fmt.Errorf("it takes one address to serve at, not %d: see brink-exporter --help", f.NArg())
	case o.every < soonest:
		return o, fmt.Errorf("--every %v: it must be %v or more", o.every, soonest)
	case f.Changed("for") && o.lasts <= 0:
		return o, fmt.Errorf("--for %v: it must be above 0", o.lasts)
	}
	o.address, err = parseAddress(f.Arg(0))
	return o, err
}

// parseAddress reads the address to serve at. A port alone, PORT or :PORT, is
// on 127.0.0.1: others can reach the exporter only if an address that they can
// reach was written.
func parseAddress(text string) (netip.AddrPort, error) {
	host, port, found := strings.Cut(text, ":")
	if !found {
		host, port = "", text
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 && (host == "" || host == "localhost") {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(n)), nil
	}
	addr, err := netip.ParseAddrPort(text)
	if err != nil || addr.Port() == 0 {
		return addr, fmt.Errorf("%q is no address to serve at: it must be a port, which is then on 127.0.0.1, or like 192.0.2.1:9464", text)
	}
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()), nil
}

// serve takes readings and serves metrics until ctx ends.
func serve(ctx context.Context, o options, stderr io.Writer) error {
	if o.lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.lasts)
		defer cancel()
	}
	defer o.listener.Close()
	g, err := gauge.New(o.config)
	if err != nil {
		return err
	}
	defer g.Close()
	e := New(g)
	if err := e.Sample(time.Now()); err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(stderr, "brink-exporter: metrics at http://%s/metrics\n", o.listener.Addr())
	}
	server := e.Server()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(o.listener) }()
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return stop(server)
		case err := <-failed:
			return fmt.Errorf("serving metrics: %w", err)
		case now := <-tick.C:
			// brink_reading_failures_total tells of those that fail.
			_ = e.Sample(now)
		}
	}
}

// stop lets scrapes that are under way end.
func stop(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return server.Close()
	}
	return nil
}
