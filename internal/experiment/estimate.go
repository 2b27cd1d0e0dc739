package experiment

import (
	"slices"
	"time"
)

// What an estimate assumes where nothing better is known: the time to deploy
// an app, and to answer a batch of which no law says how long it takes. A plan
// that limits memory is a machine that has to boot, mostly an emulated one, on
// which apps start much slower.
const (
	assumedDeploy       = 1200 * time.Millisecond
	assumedAnswer       = time.Second
	assumedBoot         = 25 * time.Second
	assumedSlowerDeploy = 15 * time.Second
)

// Estimate is roughly how long a run takes: deployments, pauses and traffic
// of all repetitions, the baseline's second execution included. Traffic that is
// not bounded by time takes what the declared laws about last_answer_s say, the
// longest of them.
func (d *Design) Estimate() time.Duration {
	var total time.Duration
	held := map[string]int{}
	for _, s := range d.Steps {
		deployed := len(s.Apps)
		each := time.Duration(s.Settle) + d.length(s)
		if s.Plan.MemoryMB > 0 && s.Rung == 0 {
			each += assumedBoot
		}
		if s.Ladder != "" {
			deployed -= held[s.Ladder]
			held[s.Ladder] = len(s.Apps)
		}
		if s.Plan.MemoryMB > 0 {
			each += time.Duration(deployed) * assumedSlowerDeploy
		} else {
			each += time.Duration(deployed) * assumedDeploy
		}
		if s.Name == d.Experiment.Baseline || d.switched(s.Name) {
			each *= 2
		}
		total += each * time.Duration(d.RepetitionsOf(s))
	}
	return total
}

// switched tells whether a step is one side of an intervention, which runs
// each side twice.
func (d *Design) switched(step string) bool {
	return slices.ContainsFunc(d.Experiment.Hypotheses, func(h Hypothesis) bool {
		return h.Form == CausedBy && (h.On == step || h.Off == step)
	})
}

// length is how long the traffic of a step takes.
func (d *Design) length(s Step) time.Duration {
	var longest time.Duration
	for _, t := range s.Traffic {
		var takes Duration
		switch {
		case t.Duration > 0:
			takes = t.Duration
		case t.Every > 0:
			takes = t.Every * Duration(t.Count)
		case t.Rate > 0:
			takes = Duration(float64(t.Count) / t.Rate * float64(time.Second))
		default:
			takes = t.Stagger*Duration(t.Count) + Duration(d.predicted(s))
		}
		longest = max(longest, time.Duration(t.Start+takes))
	}
	return longest
}

// predicted is what the laws say about the last answer of a step.
func (d *Design) predicted(s Step) time.Duration {
	longest := 0.0
	for _, h := range d.Experiment.Hypotheses {
		if h.Form != Law || h.Metric != "last_answer_s" || !slices.Contains(h.Steps, s.Name) {
			continue
		}
		if x, err := h.Evaluate(s); err == nil {
			longest = max(longest, x)
		}
	}
	if longest == 0 {
		return assumedAnswer
	}
	return time.Duration(min(longest, day) * float64(time.Second))
}
