package record

import (
	"context"
	"testing"
)

// The expected counts are those of fillProbes and fillSeen.
func TestFailuresAreCountedByStepAndOutcome(t *testing.T) {
	r := open(t, golden)
	got, err := r.Failures(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "failures", got, []Failure{
		{Step: "S4", Outcome: "a new word", Count: 1},
		{Step: "S4", Outcome: "http_5xx", Count: 2},
		{Step: "S4", Outcome: "timeout", Count: 1, Example: "no answer within 2s"},
	})
}

func TestCommonLogsAreBoundedPerStepAndCountAll(t *testing.T) {
	r := open(t, golden)
	ctx := context.Background()
	counts, err := r.Counts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lines, total, err := r.CommonLogs(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if total != counts.Logs {
		t.Errorf("total is %d, the record holds %d lines", total, counts.Logs)
	}
	equal(t, "lines", lines, []CommonLog{
		{Step: "S4", App: "site", Stream: "stderr", Line: "Worker FAILED to boot.", Count: 1},
	})
}
