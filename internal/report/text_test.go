package report

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

func TestEffectsCarrySignAndUnit(t *testing.T) {
	for _, c := range []struct {
		x        float64
		relative bool
		unit     string
		want     string
	}{
		{1.0004, true, "s", "+100 %"}, {-0.051, true, "s", "−5.1 %"}, {0, true, "s", "0 %"}, {2.14, false, "%", "+2.1 points"},
		{-3, false, "", "−3"}, {0.25, false, "s", "+0.25 s"}, {27.6701, true, "", "+2,767 %"}, {-0.0001, true, "", "0 %"},
	} {
		got := strings.ReplaceAll(formatEffect(c.x, c.relative, c.unit), "\u00a0", " ")
		if got != c.want {
			t.Errorf("formatEffect(%v, %v, %q) = %q, want %q", c.x, c.relative, c.unit, got, c.want)
		}
	}
}

func TestDurationsReadAsWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 250 * time.Millisecond: "250 ms", 21 * time.Second: "21.0 s", 848 * time.Second: "14 min 8 s",
		2*time.Hour + 90*time.Second: "2 h 2 min", -1500 * time.Millisecond: "−1.5 s",
	} {
		if got := strings.ReplaceAll(formatDuration(d), "\u00a0", " "); got != want {
			t.Errorf("formatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestVisibleShowsControlCharacters(t *testing.T) {
	got := visible("a\x1b[31mred\x00\r\nb\u202ec\x7f\xffd\u0085e")
	if want := "a␛[31mred␀  b\ufffdc␡\ufffdd\ufffde"; got != want {
		t.Errorf("visible = %q, want %q", got, want)
	}
	long := visible(strings.Repeat("x", maxText+37))
	if want := strings.Repeat("x", maxText) + "… (37 more characters)"; long != want {
		t.Errorf("a long line ends in %q", long[maxText-5:])
	}
}

func TestVisibleLeavesNothingToObey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := visible(rapid.String().Draw(t, "s") + string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		for _, r := range s {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%U is left in %q", r, s)
			}
		}
	})
}

func TestProseReadsBackticksAsCode(t *testing.T) {
	for s, want := range map[string]string{
		"see `ss -ltn` now": "text:see |code:ss -ltn|text: now",
		"`a``b`":            "code:a|code:b",
		"one ` only":        "text:one ` only",
		"`a` and ` odd":     "code:a|text: and ` odd",
		"":                  "",
	} {
		var parts []string
		for _, sp := range prose(s) {
			parts = append(parts, string(sp.Kind)+":"+sp.Text)
		}
		if got := strings.Join(parts, "|"); got != want {
			t.Errorf("prose(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestOnlyWebAddressesBecomeLinks(t *testing.T) {
	for address, isLink := range map[string]bool{
		"https://man7.org/": true, "http://a.example/x?y=1": true, "javascript:alert(1)": false, "file:///etc/passwd": false,
		"data:text/html,x": false, "//host/path": false, "https://": false, "": false,
	} {
		if got := link("title", address)[0].Kind == webLink; got != isLink {
			t.Errorf("%q as a link: %v, want %v", address, got, isLink)
		}
	}
}
