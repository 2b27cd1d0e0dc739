package frontend_test

import (
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/frontend"
	"brink/internal/traffic"
)

// BenchmarkAgainstDirect sends requests to an app alternately through the front
// end and past it, one after the other on connections of their own, and reports
// both medians, their difference and their ratio: one of each per iteration.
func BenchmarkAgainstDirect(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	f := frontend.New(frontend.Options{Clock: clock.Real})
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = f.Serve(front) }()
	defer f.Close()
	f.SetRoute("web", l.Addr().String(), frontend.Ready)

	var direct, through []time.Duration
	send := func(addr string, into *[]time.Duration) {
		_, err := traffic.Run(b.Context(), clock.Real, traffic.Spec{
			Kind: traffic.KindSequential, Count: 50, Path: "/", Host: "web", Timeout: 10 * time.Second,
		}, addr, func(p *traffic.Probe) {
			if p.Status != http.StatusOK {
				b.Fatalf("status %d: %s", p.Status, p.Err)
			}
			*into = append(*into, p.Latency())
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		send(l.Addr().String(), &direct)
		send(front.Addr().String(), &through)
	}
	slices.Sort(direct)
	slices.Sort(through)
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	d, t := micros(direct[len(direct)/2]), micros(through[len(through)/2])
	b.ReportMetric(d, "direct_µs")
	b.ReportMetric(t, "through_µs")
	b.ReportMetric(t-d, "added_µs")
	b.ReportMetric(t/d, "ratio")
	b.ReportMetric(0, "ns/op")
}
