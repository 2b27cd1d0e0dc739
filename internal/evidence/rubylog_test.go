package evidence

import "testing"

// Unicorn writes by the logger of Ruby's library (Logger::Formatter), which puts
// a letter before the time.
func TestLinesOfRubysLoggerHaveATime(t *testing.T) {
	wantEvents(t, readFile(t, "unicorn.log", `I, [2026-06-03T05:00:01.000000 #12]  INFO -- : worker=0 spawned pid=100
E, [2026-06-03T05:01:01.400000 #12] ERROR -- : worker=0 PID:100 timeout (61s > 60s), killing
`),
		"2026-06-03T05:00:01 worker boot pid=100",
		"2026-06-03T05:01:01 worker timeout pid=100 limit=60")
}
