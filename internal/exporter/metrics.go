package exporter

import (
	"github.com/prometheus/client_golang/prometheus"

	"brink/internal/kernel"
)

var (
	serverLabels = []string{"server", "kind", "listen", "netns"}
	socketLabels = []string{"server", "socket", "netns"}
)

// metric is one of those that docs/exporter.md describes.
type metric struct {
	*prometheus.Desc
	name string
	kind prometheus.ValueType
}

func gaugeOf(name, help string, labels []string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), name, prometheus.GaugeValue}
}

func counterOf(name, help string, labels []string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), name, prometheus.CounterValue}
}

var (
	workers     = gaugeOf("brink_workers", "Requests that the server can serve at once.", serverLabels)
	busy        = gaugeOf("brink_workers_busy", "Workers that hold a request.", serverLabels)
	idle        = gaugeOf("brink_workers_idle", "Workers that hold none.", serverLabels)
	workerTime  = counterOf("brink_worker_seconds_total", "Time of all workers, while it was known how many are busy.", serverLabels)
	busyTime    = counterOf("brink_worker_busy_seconds_total", "Time in which workers held a request.", serverLabels)
	queued      = gaugeOf("brink_requests_queued", "Requests that wait for a worker, in accept queues and inside the server.", serverLabels)
	service     = gaugeOf("brink_request_service_seconds", "Mean time that a worker holds a request, over about a minute.", serverLabels)
	arrivals    = gaugeOf("brink_request_arrivals_per_second", "Requests that arrive, over about a minute.", serverLabels)
	sustainable = gaugeOf("brink_request_sustainable_per_second", "Rate at which no worker is idle.", serverLabels)
	wait        = gaugeOf("brink_request_expected_wait_seconds", "Mean wait by theory (M/M/c) at the measured rate and service time.", serverLabels)
	cpuTime     = counterOf("brink_server_cpu_seconds_total", "CPU time of the server's processes since they were first seen.", serverLabels)
	memory      = gaugeOf("brink_server_resident_memory_bytes", "Resident memory of the server's processes; shared pages count in each.", serverLabels)
	processes   = gaugeOf("brink_server_processes", "Processes of the server.", serverLabels)

	queue     = gaugeOf("brink_accept_queue_connections", "Connections that wait to be accepted.", socketLabels)
	limit     = gaugeOf("brink_accept_queue_limit_connections", "Backlog of the listening socket.", socketLabels)
	queueTime = counterOf("brink_accept_queue_connection_seconds_total", "Time that connections have waited, in sum.", socketLabels)
	oldest    = gaugeOf("brink_accept_queue_oldest_seconds", "Age of the last data of the connection that waits longest.", socketLabels)
	abandoned = gaugeOf("brink_accept_queue_abandoned_connections", "Waiting connections whose client has closed.", socketLabels)
	drops     = counterOf("brink_accept_queue_drops_total", "Connections that the socket has turned away since it was opened.", socketLabels)

	readings = counterOf("brink_readings_total", "Readings taken.", nil)
	failures = counterOf("brink_reading_failures_total", "Readings that failed.", nil)

	all = []metric{
		workers, busy, idle, workerTime, busyTime, queued, service, arrivals, sustainable, wait, cpuTime, memory, processes,
		queue, limit, queueTime, oldest, abandoned, drops, readings, failures,
	}
)

// with is one value of the metric.
func (m metric) with(v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(m.Desc, m.kind, v, labels...)
}

// offer sends a value that is known.
func offer(ch chan<- prometheus.Metric, m metric, n kernel.Num, labels []string) {
	if n.Known {
		ch <- m.with(float64(n.Value), labels...)
	}
}
