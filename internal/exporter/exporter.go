// Package exporter offers the readings of a gauge to Prometheus. It is the
// program brink-exporter, and apart from brink itself, since the library that
// it stands on would make every start of brink slower.
package exporter

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"brink/internal/gauge"
)

// Exporter holds the latest reading. Readings are taken at a pace of their own,
// so that what happens between two scrapes is in the totals.
type Exporter struct {
	mu       sync.Mutex
	gauge    *gauge.Gauge
	snap     *gauge.Snapshot // nil before the first reading and after one that failed
	readings float64
	failures float64
	ids      []string // scratch: names and addresses in use
}

// New returns an exporter of the gauge's readings, which from now on only the
// exporter may take.
func New(g *gauge.Gauge) *Exporter { return &Exporter{gauge: g} }

// Sample takes a reading. After an error nothing of servers is offered until
// the next that succeeds.
func (e *Exporter) Sample(now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	if e.snap, err = e.gauge.Sample(now); err != nil {
		e.snap = nil
		e.failures++
		return err
	}
	e.readings++
	return nil
}

// Limits of what a client may take from the exporter.
const (
	mostScrapes   = 8 // at once
	headerTimeout = 5 * time.Second
	scrapeTimeout = 10 * time.Second
	idleTimeout   = 5 * time.Minute
)

// Server serves the metrics, and those of the exporter's own process, at
// /metrics.
func (e *Exporter) Server() *http.Server {
	registry := prometheus.NewRegistry()
	registry.MustRegister(e, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: mostScrapes,
		Timeout:             scrapeTimeout,
	}))
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       scrapeTimeout,
		WriteTimeout:      2 * scrapeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    16 << 10,
	}
}
