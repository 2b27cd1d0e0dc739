package doctor

import (
	"slices"
	"strings"
	"time"

	"brink/internal/evidence"
)

// An error belongs to an end if the log has it this long before, or a moment
// after: logs of two programs do not agree to the second.
const (
	errorBefore = 2 * time.Minute
	errorAfter  = 5 * time.Second
)

// lastError is the last line of the app's own log before an end that says what
// went wrong, nil if none does. Without times, it is the last of all.
func (l *look) lastError(app string, end time.Time) *evidence.Event {
	errors := l.EventsOf(evidence.AppError, evidence.AppLoadFailed)
	for _, e := range slices.Backward(errors) {
		if e.Error == "" || !sameProgram(e.App, app) {
			continue
		}
		if before := end.Sub(e.At); end.IsZero() || e.At.IsZero() || before <= errorBefore && before >= -errorAfter {
			return e
		}
	}
	return nil
}

// sameProgram reports whether two names are of one program: a site and its
// container (shop_0), a pod and its container (shop/web), a unit and the program
// in it (shop.service). What has no name may be anything's.
func sameProgram(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == "" || a == b || strings.HasPrefix(b, a) && strings.ContainsRune("_/.@:", rune(b[len(a)]))
}

// quoted is a sentence with the app's own words.
func quoted(e *evidence.Event) string {
	return " Its own log says: \"" + strings.TrimRight(e.Error, ".") + "\" (" + e.From.String() + ")."
}
