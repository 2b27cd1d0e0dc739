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
// infinite at a rate that the workers do not keep up with, and unknown where
// the error of the service time leaves open whether they do.
func ExpectedWait(s *gauge.Server) (varying, alike gauge.Measure) {
	if !s.Service.Known || !s.Rate.Known || !s.Workers.Known {
		return varying, alike
	}
	if least, most := waitRange(s); math.IsInf(least, 1) != math.IsInf(most, 1) {
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

// waitRange is the wait at two standard errors of the service time to either
// side.
func waitRange(s *gauge.Server) (least, most float64) {
	workers, off := int(s.Workers.Value), 2*s.ServiceError.Value
	at := func(factor float64) float64 { return queue.MMC(workers, s.Rate.Value, factor*s.Service.Value).Mean }
	return at(1 - off), at(1 + off)
}

const (
	// roughError is the standard error from which a rate is marked as rough.
	roughError = 0.025
	// roughWait is how much the ends of the range of a wait may differ before
	// it is marked.
	roughWait = 1.2
)

// roughRate reports whether two readings of the same thing may differ visibly.
func roughRate(s *gauge.Server) bool { return s.ServiceError.Value > roughError }

func isRoughWait(s *gauge.Server) bool {
	least, most := waitRange(s)
	return most > roughWait*least
}
