package watch

import (
	"math"

	"brink/internal/gauge"
	"brink/internal/queue"
)

// Sustainable is the number of requests per second at which no worker is idle;
// unknown unless the service time was measured.
func Sustainable(s *gauge.Server) gauge.Measure {
	if !s.Service.Known || !s.Workers.Known || s.Service.Value <= 0 {
		return gauge.Measure{}
	}
	return gauge.Measure{Value: queue.SustainableRate(int(s.Workers.Value), s.Service.Value), Known: true}
}

// ExpectedWait is the mean time in the queue, in seconds, that theory gives for
// the measured rate and service time: for services that vary as the exponential
// law does ([queue.MMC]) and for ones that are all alike ([queue.MDC]). It is
// infinite at a rate that the workers do not keep up with.
func ExpectedWait(s *gauge.Server) (varying, alike gauge.Measure) {
	if !s.Service.Known || !s.Rate.Known || !s.Workers.Known {
		return varying, alike
	}
	workers := int(s.Workers.Value)
	return mean(queue.MMC(workers, s.Rate.Value, s.Service.Value)), mean(queue.MDC(workers, s.Rate.Value, s.Service.Value))
}

func mean(w queue.Wait) gauge.Measure {
	if math.IsNaN(w.Mean) {
		return gauge.Measure{}
	}
	return gauge.Measure{Value: w.Mean, Known: true}
}
