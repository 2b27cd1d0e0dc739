package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// marks counts the drawn marks of every picture.
const marks = `[...document.querySelectorAll(".chart")].map(c => c.dataset.drawn === "yes" ? c.querySelectorAll("svg .mark-rect path, svg .mark-rule line, svg .mark-line path, svg .mark-symbol path, svg .mark-area path").length : 0)`

func TestEveryChartIsDrawn(t *testing.T) {
	b := browser(t)
	for name, l := range map[string]look{"light": desktop, "dark": {width: 1200, height: 900, dark: true}, "phone": {width: 375, height: 800, phone: true}} {
		t.Run(name, func(t *testing.T) {
			tb := open(t, b, fixture(t), l)
			counts := eval[[]int](tb, marks)
			if len(counts) != len(fixture(t).Charts) {
				t.Fatalf("%d pictures, want %d", len(counts), len(fixture(t).Charts))
			}
			for i, n := range counts {
				if n < 3 {
					t.Errorf("picture %d has %d marks", i+1, n)
				}
			}
			// Five in service, one waiting, and the stripes of two rows.
			if n := eval[int](tb, `document.querySelectorAll("#figure-1 .mark-rect path").length`); n != 8 {
				t.Errorf("figure 1 has %d bars and stripes, want 8", n)
			}
			if missing := eval[int](tb, `[...document.querySelectorAll(".chart")].filter(c => c.getAttribute("role") !== "img" || c.ariaLabel.length < 20).length`); missing > 0 {
				t.Errorf("%d pictures have no text alternative", missing)
			}
			tb.quiet()
		})
	}
}

// background and bar are what the eye sees of a theme.
const (
	background = `getComputedStyle(document.body).backgroundColor`
	bar        = `getComputedStyle(document.querySelectorAll("#figure-1 .mark-rect path")[2]).fill`
)

func TestThemeFollowsTheSystemAndTheButton(t *testing.T) {
	b := browser(t)
	light, dark := open(t, b, fixture(t), desktop), open(t, b, fixture(t), look{width: 1200, height: 900, dark: true})
	if bg := eval[string](light, background); bg != "rgb(255, 255, 255)" {
		t.Errorf("the light page is %s", bg)
	}
	lightBar, darkBar := eval[string](light, bar), eval[string](dark, bar)
	if lightBar == darkBar || !strings.HasPrefix(lightBar, "rgb(") || eval[string](light, background) == eval[string](dark, background) {
		t.Errorf("bars are %s in light and %s in dark", lightBar, darkBar)
	}
	light.do(chromedp.Click(chromedp.CSS("#theme")))
	if got := eval[string](light, bar); got != darkBar {
		t.Errorf("after the button bars are %s, want %s", got, darkBar)
	}
	light.do(chromedp.Click(chromedp.CSS("#theme")))
	if got := eval[string](light, bar); got != lightBar {
		t.Errorf("after the button again bars are %s, want %s", got, lightBar)
	}
	light.quiet()
	dark.quiet()
}

func TestPaperIsLightAndExplains(t *testing.T) {
	tb := open(t, browser(t), fixture(t), look{width: 1200, height: 900, dark: true})
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	eval[bool](tb, `dispatchEvent(new Event("beforeprint"))`)
	if bg := eval[string](tb, background); bg != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s", bg)
	}
	if n := eval[int](tb, `document.querySelectorAll("details.why:not([open])").length`); n > 0 {
		t.Errorf("%d explanations are folded away on paper", n)
	}
	// A4 less its margins is 182 mm, 688 px.
	call(tb, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 688, Height: 1000, DeviceScaleFactor: 1})
	if wide := eval[int](tb, `[...document.querySelectorAll(".chart svg")].filter(s => s.getBoundingClientRect().right > innerWidth + 1).length`); wide > 0 {
		t.Errorf("%d pictures are wider than the paper", wide)
	}
	tb.quiet()
}

func TestHostileAppChangesNothing(t *testing.T) {
	b := browser(t)
	const structure = `JSON.stringify([...document.body.querySelectorAll("*")].filter(e => !e.closest(".chart")).map(e => e.tagName))`
	want := eval[string](open(t, b, tainted(t, "harmless"), desktop), structure)
	for _, payload := range []string{hostile[0], hostile[1], hostile[2], `\"+datum.v+\"`, strings.Join(hostile, "")} {
		tb := open(t, b, tainted(t, payload), desktop)
		if got := eval[string](tb, structure); got != want {
			t.Errorf("%q changes the page: %d bytes of structure, want %d", payload, len(got), len(want))
		}
		if title := eval[string](tb, "document.title"); title == "taken" {
			t.Errorf("%q ran", payload)
		}
		if n := eval[int](tb, `document.querySelectorAll(".chart img, .chart script, .chart iframe, .chart foreignObject, .chart a").length`); n > 0 {
			t.Errorf("%q put %d elements into pictures", payload, n)
		}
		for i, n := range eval[[]int](tb, marks) {
			if n == 0 {
				t.Errorf("%q keeps picture %d from being drawn", payload, i+1)
			}
		}
		tb.quiet()
	}
}

// What escaping might one day let through, the policy stops.
func TestPolicyStopsForeignCode(t *testing.T) {
	tb := open(t, browser(t), fixture(t), desktop)
	eval[int](tb, `(() => { const s = document.createElement("script"); s.textContent = "document.title = 'taken'"; document.body.append(s); return 0; })()`)
	if title := eval[string](tb, "document.title"); title == "taken" {
		t.Error("a foreign script ran")
	}
	if stopped := eval[bool](tb, `new Promise((done) => { document.addEventListener("securitypolicyviolation", (e) => done(e.effectiveDirective === "img-src")); new Image().src = "http://127.0.0.1:9/x"; })`, chromedp.EvalAwaitPromise); !stopped {
		t.Error("an image was asked for beyond the page")
	}
}

func TestPhoneScrollsOnlyDown(t *testing.T) {
	b := browser(t)
	for _, width := range []int64{375, 320} {
		tb := open(t, b, fixture(t), look{width: width, height: 800, phone: true})
		eval[int](tb, `document.querySelectorAll("details").forEach(d => { d.open = true; }) ?? 0`)
		if w := eval[int64](tb, "document.documentElement.scrollWidth"); w > width {
			t.Errorf("at %d px the page is %d px wide", width, w)
		}
		over := eval[[]string](tb, `[...document.body.querySelectorAll("*")].filter(e => !e.closest(".scroll") && !e.closest(".skip") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.getAttribute("class"))`)
		if len(over) > 0 {
			t.Errorf("at %d px these stand out: %v", width, over)
		}
		tb.quiet()
	}
}

// A legend that is cut or labels that touch cannot be read. The comparisons
// have long names and all three words.
func TestPhoneCutsNoWordOfAPicture(t *testing.T) {
	m := fixture(t)
	m.Charts = append(m.Charts, must(t)(Effects(EffectsInput{ID: "long", Title: "Long names", Unit: "%", Rows: []EffectRow{
		{Label: "H4-burn: s4-gunicorn → s5-work-2-cpu1", Estimate: 67.4, Open: true}, {Label: "S5-one-cpu: s5-work-1-cpu1 → s5-work-2-cpu1", Estimate: 12, Lo: ptr(-20), Hi: ptr(30)},
		{Label: "overflow: backlog-2048 → backlog-4", Estimate: 83, Lo: ptr(80), Hi: ptr(86), Holds: true}}})))
	tb := open(t, browser(t), m, look{width: 390, height: 800, phone: true})
	const cut = `[...document.querySelectorAll(".drawing svg")].flatMap(svg => [...svg.querySelectorAll("text")].filter(e => {
		const t = e.getBoundingClientRect(), s = svg.getBoundingClientRect();
		return t.width > 0 && e.closest(".role-legend, .role-axis") && (t.right > s.right + 1 || t.left < s.left - 1 || e.textContent.includes("…"));
	}).map(e => e.textContent))`
	if words := eval[[]string](tb, cut); len(words) > 0 {
		t.Errorf("cut are %q", words)
	}
	const touching = `[...document.querySelectorAll(".drawing .role-axis-label")].flatMap(axis => {
		const all = [...axis.querySelectorAll("text")].filter(e => e.textContent && getComputedStyle(e).opacity !== "0").map(e => [e.textContent, e.getBoundingClientRect()]);
		return all.slice(1).filter(([, r], i) => { const b = all[i][1]; return r.left < b.right + 3 && b.left < r.right + 3 && r.top < b.bottom - 1 && b.top < r.bottom - 1; }).map(([w], i) => w);
	})`
	if words := eval[[]string](tb, touching); len(words) > 0 {
		t.Errorf("touching their neighbours are %q", words)
	}
	tb.quiet()
}

// Tab reaches everything that can be used, and shows where it is.
func TestKeyboardReachesEverything(t *testing.T) {
	tb := open(t, browser(t), fixture(t), look{width: 375, height: 800})
	const reachable = `[...document.querySelectorAll("a[href], button, summary, [tabindex='0']")].filter(e => e.checkVisibility()).length`
	total := eval[int](tb, reachable)
	if scrolling := eval[int](tb, `document.querySelectorAll(".scroll[tabindex='0']").length`); scrolling == 0 {
		t.Error("no table scrolls on a phone: the test sees nothing of them")
	}
	const name = `(() => { const e = document.activeElement; e.dataset.stop ??= String(document.querySelectorAll("[data-stop]").length); const s = getComputedStyle(e); return [e.dataset.stop, e.className, s.outlineStyle === "none" ? "invisible" : "visible"]; })()`
	seen := map[string]bool{}
	for range total {
		tb.do(chromedp.KeyEvent(kb.Tab))
		stop := eval[[]string](tb, name)
		if stop[2] != "visible" {
			t.Errorf("stop %s (%s) does not show that it has the focus", stop[0], stop[1])
		}
		seen[stop[0]] = true
	}
	if len(seen) != total {
		t.Errorf("Tab stops at %d places, want %d", len(seen), total)
	}
	eval[int](tb, `document.activeElement.blur() ?? 0`)
	tb.do(chromedp.Focus(chromedp.CSS(".skip")), chromedp.KeyEvent(kb.Enter))
	if at := eval[string](tb, `location.hash`); at != "#s10" {
		t.Errorf("the skip link leads to %q", at)
	}
	tb.quiet()
}

// contrasts lists texts whose contrast is below WCAG's AA: 4.5:1.
const contrasts = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const lum = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest("script, style")) continue;
    const style = getComputedStyle(e), svg = e.closest("svg");
    if (svg && e.closest(".mark-text.role-mark")) continue;
    const r = ratio(rgb(svg ? style.fill : style.color), behind(svg ? svg.parentElement : e));
    if (r < 4.5) bad.push(r.toFixed(2) + " " + e.tagName + "." + e.getAttribute("class") + " " + walker.currentNode.data.trim().slice(0, 30));
  }
  const root = getComputedStyle(document.documentElement), paper = rgb(getComputedStyle(document.body).backgroundColor);
  document.querySelectorAll(".mark-rect path, .mark-symbol path, .mark-rule line, .mark-line path").forEach((e) => {
    const s = getComputedStyle(e), paint = s.fill === "none" || s.fill === "rgba(0, 0, 0, 0)" ? s.stroke : s.fill;
    if (Number(s.fillOpacity) * Number(s.opacity) < 0.6 || paint === "none" || e.closest(".role-axis-grid, .background")) return;
    const r = ratio(rgb(paint), paper);
    if (r < 3) bad.push(r.toFixed(2) + " mark " + e.parentElement.getAttribute("class"));
  });
  return bad;
})()`

func TestContrast(t *testing.T) {
	b := browser(t)
	for name, l := range map[string]look{"light": desktop, "dark": {width: 1200, height: 900, dark: true}} {
		tb := open(t, b, fixture(t), l)
		eval[int](tb, `document.querySelectorAll("details").forEach(d => { d.open = true; }) ?? 0`)
		bad := eval[[]string](tb, contrasts)
		slices.Sort(bad)
		if len(bad) > 0 {
			t.Errorf("%s: too faint:\n%s", name, strings.Join(slices.Compact(bad), "\n"))
		}
	}
}
