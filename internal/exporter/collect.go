package exporter

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"brink/internal/gauge"
	"brink/internal/kernel"
	"brink/internal/watch"
)

// Describe implements [prometheus.Collector].
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range all {
		ch <- m.Desc
	}
}

// Collect implements [prometheus.Collector]. What is unknown is left out.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ch <- readings.with(e.readings)
	ch <- failures.with(e.failures)
	if e.snap == nil {
		return
	}
	e.ids = e.ids[:0]
	for _, s := range e.snap.Servers {
		e.collect(ch, s)
	}
}

// Labels are bounded: much of them comes from what is watched.
const (
	widestName  = 100
	widestLabel = 200
)

func (e *Exporter) collect(ch chan<- prometheus.Metric, s *gauge.Server) {
	netns := ""
	if s.NetNS != 0 {
		netns = strconv.FormatUint(s.NetNS, 10)
	}
	listen := make([]string, len(s.Sockets))
	for i := range s.Sockets {
		listen[i] = watch.Clean(s.Sockets[i].Address(), widestLabel)
	}
	name := e.unique(s, listen, netns)
	for i, address := range listen {
		if !slices.Contains(listen[:i], address) { // SO_REUSEPORT: one address, several sockets
			collectSocket(ch, s, address, []string{name, address, netns})
		}
	}
	if s.PID != 0 {
		collectServer(ch, s, []string{name, string(s.Kind), watch.Clean(strings.Join(listen, ","), widestLabel), netns})
	}
}

func collectServer(ch chan<- prometheus.Metric, s *gauge.Server, labels []string) {
	offer(ch, workers, s.Workers, labels)
	offer(ch, busy, s.Busy, labels)
	offer(ch, idle, s.Idle, labels)
	offer(ch, queued, s.Queued, labels)
	if s.Total.WorkerSeconds > 0 {
		ch <- workerTime.with(s.Total.WorkerSeconds, labels...)
		ch <- busyTime.with(s.Total.BusySeconds, labels...)
	}
	ch <- cpuTime.with(s.Total.CPUSeconds, labels...)
	ch <- memory.with(float64(s.RSSBytes), labels...)
	ch <- processes.with(float64(len(s.Processes)), labels...)
	varying, _ := watch.ExpectedWait(s)
	for _, v := range []struct {
		metric
		gauge.Measure
	}{{service, s.Service}, {arrivals, s.Rate}, {sustainable, watch.Sustainable(s)}, {wait, varying}} {
		if v.Known {
			ch <- v.with(v.Value, labels...)
		}
	}
}

// collectSocket adds up the sockets that share an address.
func collectSocket(ch chan<- prometheus.Metric, s *gauge.Server, address string, labels []string) {
	zero := kernel.Num{Known: true}
	waiting, seconds, longest := 0.0, 0.0, gauge.Measure{}
	limits, closed, turned := zero, zero, zero
	for i := range s.Sockets {
		k := &s.Sockets[i]
		if watch.Clean(k.Address(), widestLabel) != address {
			continue
		}
		waiting += float64(k.Queue)
		seconds += k.QueueSeconds
		limits, closed, turned = limits.Plus(k.Limit), closed.Plus(k.Abandoned), turned.Plus(k.DropsTotal)
		if k.Oldest.Known {
			longest = gauge.Measure{Value: math.Max(longest.Value, k.Oldest.Value), Known: true}
		}
	}
	if waiting == 0 {
		longest.Known = true // nobody waits, for no time
	}
	ch <- queue.with(waiting, labels...)
	ch <- queueTime.with(seconds, labels...)
	offer(ch, limit, limits, labels)
	offer(ch, abandoned, closed, labels)
	offer(ch, drops, turned, labels)
	if longest.Known {
		ch <- oldest.with(longest.Value, labels...)
	}
}

// unique names a server; one that shares its name and an address with another
// gets the number of its socket as well.
func (e *Exporter) unique(s *gauge.Server, listen []string, netns string) string {
	name := cmp.Or(watch.Clean(s.Name, widestName), "unknown")
	id := func(address string) string { return name + "\x00" + address + "\x00" + netns }
	if slices.ContainsFunc(listen, func(address string) bool { return slices.Contains(e.ids, id(address)) }) {
		name += " " + strconv.FormatUint(s.Sockets[0].Inode, 10)
	}
	for _, address := range listen {
		e.ids = append(e.ids, id(address))
	}
	return name
}
