package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"brink/internal/experiment"
	"brink/internal/verdict"
)

// crowded is the fixture with as many hypotheses as a widened experiment has,
// their texts as long as real ones.
func crowded(t testing.TB) *Model {
	m := fixture(t)
	m.Notices, m.Hypotheses, m.Verdicts = nil, nil, nil
	outcomes := []verdict.Outcome{verdict.Supported, verdict.Supported, verdict.PartiallySupported, verdict.NotSupported, verdict.Inconclusive}
	for i := range 22 {
		id := fmt.Sprintf("claim-%d", i+1)
		h := experiment.Hypothesis{ID: id, Form: experiment.Compare, Metric: "last_answer_s",
			Claim: "Requests that wait for an upstream are held by threads as well as by workers, and by gevent without either."}
		m.Hypotheses = append(m.Hypotheses, Hypothesis{ID: id, Claim: h.Claim, Form: "compare", Test: "`last_answer_s` rises"})
		m.Verdicts = append(m.Verdicts, verdict.Verdict{Hypothesis: h, Outcome: outcomes[i%len(outcomes)], Level: verdict.Measured,
			Sentence: "It rises.", Numbers: "0.4708 s → 0.9277 s, shift +94.8 % [+46.9 % to +104 %, 95.9 %], p = 0.0022 (0.013 after Holm), n = 6"})
	}
	return m
}

// Everything that a reader must see first lies on the first screen: the
// question, what became of every hypothesis, and the picture. So it is on a
// laptop and on a phone, for 22 hypotheses as for 4.
func TestFirstScreenHoldsVerdictsAndPicture(t *testing.T) {
	b := browser(t)
	for name, l := range map[string]look{"laptop": {width: 1366, height: 768}, "phone": {width: 390, height: 844, phone: true}} {
		m := crowded(t)
		tb := open(t, b, m, l)
		const bottoms = `[...document.querySelectorAll(".question, .chips a, #figure-1 svg")].map(e => e.getBoundingClientRect()).map(r => r.width > 0 ? r.bottom : 1e9)`
		found := eval[[]float64](tb, bottoms)
		if len(found) != 1+len(m.Verdicts)+1 {
			t.Fatalf("%s: %d things on the first screen, want the question, %d verdicts and the picture", name, len(found), len(m.Verdicts))
		}
		for i, y := range found {
			if y > float64(l.height) {
				t.Errorf("%s: thing %d ends at %.0f px of %d", name, i+1, y, l.height)
			}
		}
		if small := eval[[]string](tb, `[...document.querySelectorAll(".verdicts p")].map(p => getComputedStyle(p).fontSize).filter(s => parseFloat(s) < 11.5)`); len(small) > 0 {
			t.Errorf("%s: %d lines are set in %s", name, len(small), small[0])
		}
		tb.do(chromedp.Focus(chromedp.CSS(".chips a")), chromedp.KeyEvent(kb.Enter))
		if at := eval[string](tb, `document.querySelector(":target").textContent`); !strings.HasPrefix(at, "claim-1 supported") {
			t.Errorf("%s: the first chip leads to %q", name, at)
		}
		tb.quiet()
	}
}

// Eleven verdicts, as many as the shipped experiment had, stand on a laptop's
// first screen with their numbers.
func TestElevenVerdictsFitALaptop(t *testing.T) {
	m := crowded(t)
	m.Verdicts = m.Verdicts[:11]
	for i := range m.Verdicts {
		m.Verdicts[i].Hypothesis.Claim = "Requests that compute do raise CPU, unlike requests that wait."
	}
	tb := open(t, browser(t), m, look{width: 1366, height: 768})
	last := eval[float64](tb, `Math.max(...[...document.querySelectorAll(".verdicts li, #figure-1 svg")].map(e => e.getBoundingClientRect().bottom))`)
	if last > 768 {
		t.Errorf("the first screen needs %.0f px", last)
	}
}
