package report

import (
	"fmt"
	"math"
	"strings"

	"brink/internal/phrase"
	"brink/internal/queue"
)

// WaitsInput is the wait for a worker against how busy the workers are, beside
// what theory and a simulation of the same arrivals give.
type WaitsInput struct {
	ID, Title string
	// Workers and ServiceS, the time in seconds that a request keeps a worker,
	// are what the curves are drawn for.
	Workers  int
	ServiceS float64
	// Apart tells that the workers are threads of several processes, of which
	// each keeps the connections that it took.
	Apart bool
	// OverheadMs is what every measured wait holds beside the time in the queue;
	// it is added to the curves. BesidesMs is the part of ServiceS that is not
	// time in the app. Both were estimated from the requests that are drawn.
	OverheadMs, BesidesMs float64
	Points                []WaitPoint
}

// WaitPoint is one repetition. Waits are means in milliseconds.
type WaitPoint struct {
	Step   string
	Number int
	// UtilisationPct is the share of their time that workers were busy, 0 to 100.
	UtilisationPct float64
	MeasuredMs     float64
	// SimulatedMs is what the simulation of the very arrivals gives, nil when
	// there is none.
	SimulatedMs *float64
}

const (
	waitMeasured  = "measured"
	waitSimulated = "simulated"
	waitMDC       = "M/D/c (constant service)"
	waitMMC       = "M/M/c (random service)"
)

// curvePoints is how many points a curve has.
const curvePoints = 80

// Waits draws the mean wait over the utilisation, on a logarithmic axis, since
// it grows a hundredfold: a point for each repetition, the simulation of its
// arrivals tied to it, and the curves of M/D/c and M/M/c from the package
// queue, as far as they lie in the range of the points.
func Waits(in WaitsInput) (Chart, error) {
	if len(in.Points) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	if in.Workers < 1 || !(in.ServiceS > 0) {
		return Chart{}, fmt.Errorf("chart %s: theory needs workers and a time in service, not %d and %v s", in.ID, in.Workers, in.ServiceS)
	}
	r := waitRange{least: math.Inf(1), idlest: 100}
	for _, p := range in.Points {
		waits := []float64{p.MeasuredMs}
		if p.SimulatedMs != nil {
			waits = append(waits, *p.SimulatedMs)
		}
		if err := checkFinite(in.ID, append(waits, p.UtilisationPct)...); err != nil {
			return Chart{}, err
		}
		for _, ms := range waits {
			r.most = max(r.most, ms)
			if ms > 0 {
				r.least = min(r.least, ms)
			}
		}
		r.idlest, r.busiest = min(r.idlest, p.UtilisationPct), max(r.busiest, p.UtilisationPct)
	}
	r = r.widened()
	spec := in.spec(r)
	return newChart(in.ID, in.Title, in.describe(), in.note(), spec, in.table())
}

// note says what the curves and the simulation are made of, and what of it is
// taken from the measurement that they are held against.
func (in WaitsInput) note() string {
	note := fmt.Sprintf("Each point is a repetition; simulated: the same arrivals, served first come, first served. Curves: random (Poisson) arrivals at %s that a request keeps for %s, and %s on its way. "+
		"They are what an endless run would have on average; the arrivals of a short one may crowd more or less, which only the simulation knows, as it has the same ones. "+
		"Of the time that a request keeps a worker %s are beside its time in the app: these and the time on its way were estimated from the same requests, so that curves and simulation are no independent prediction of them.",
		phrase.Plural(in.Workers, "worker"), formatValue(in.ServiceS*1000, "ms"), formatValue(in.OverheadMs, "ms"), formatValue(in.BesidesMs, "ms"))
	if in.Apart {
		note += " Curves and simulation have one queue for all workers. Here each process keeps the connections that it took, so they are the least to expect."
	}
	return note
}

// waitRange is what a picture covers: waits in ms, utilisation in percent.
type waitRange struct{ least, most, idlest, busiest float64 }

// widened leaves room around the points.
func (r waitRange) widened() waitRange {
	if math.IsInf(r.least, 1) {
		r.least, r.most = 0.1, 1
	}
	return waitRange{least: r.least / 2, most: r.most * 2, idlest: max(0, 10*math.Floor(r.idlest/10)-10), busiest: min(100, r.busiest+2)}
}

// theoryAt is the mean wait in milliseconds at a utilisation in percent.
func (in WaitsInput) theoryAt(model queue.Model, pct float64) float64 {
	return in.OverheadMs + 1000*model(in.Workers, pct/100*float64(in.Workers)/in.ServiceS, in.ServiceS).Mean
}

// curve follows a model as far as its wait lies in the picture.
func (in WaitsInput) curve(model queue.Model, name string, r waitRange) []object {
	var rows []object
	for i := range curvePoints + 1 {
		pct := r.idlest + (r.busiest-r.idlest)*float64(i)/curvePoints
		if ms := in.theoryAt(model, pct); ms >= r.least && ms <= r.most {
			rows = append(rows, object{"x": round(pct), "y": round(ms), "k": name})
		}
	}
	return rows
}

func (in WaitsInput) spec(r waitRange) object {
	kinds := []string{waitMeasured, waitSimulated, waitMDC, waitMMC}
	curves := append(in.curve(queue.MDC, waitMDC, r), in.curve(queue.MMC, waitMMC, r)...)
	var points, ties []object
	simulated := false
	for _, i := range thin(len(in.Points), maxPoints) {
		p := in.Points[i]
		points = append(points, object{"x": round(p.UtilisationPct), "y": round(max(p.MeasuredMs, r.least)), "k": waitMeasured, "s": visible(p.Step), "n": p.Number})
		if p.SimulatedMs != nil {
			simulated = true
			points = append(points, object{"x": round(p.UtilisationPct), "y": round(max(*p.SimulatedMs, r.least)), "k": waitSimulated, "s": visible(p.Step), "n": p.Number})
			ties = append(ties, object{"x": round(p.UtilisationPct), "y": round(max(p.MeasuredMs, r.least)), "y2": round(max(*p.SimulatedMs, r.least))})
		}
	}
	shown := kinds
	if !simulated {
		shown = []string{waitMeasured, waitMDC, waitMMC}
	}
	x := object{"field": "x", "type": "quantitative", "title": "utilisation of the workers, %", "axis": object{"grid": true}, "scale": object{"domain": []float64{round(r.idlest), round(r.busiest)}, "nice": false, "zero": false}}
	y := object{"field": "y", "type": "quantitative", "title": "mean wait, ms, on a logarithmic axis", "axis": object{"tickCount": 5}, "scale": object{"type": "log", "domain": []float64{round(r.least), round(r.most)}, "nice": false}}
	legend := object{"values": shown, "offset": 26, "symbolOpacity": 1}
	color := colours("k", kinds, legend)
	return object{"height": 340, "layer": layered(
		object{"data": inlineData(curves), "mark": object{"type": "line", "strokeWidth": 1.8}, "encoding": object{"x": x, "y": y, "color": color}},
		object{"data": inlineData(ties), "mark": object{"type": "rule", "style": "zero"}, "encoding": object{"x": x, "y": y, "y2": object{"field": "y2"}}},
		object{"data": inlineData(points), "mark": object{"type": "point", "filled": true, "size": 60, "opacity": 0.85},
			"encoding": object{"x": x, "y": y, "color": color,
				"shape":   object{"field": "k", "type": "nominal", "title": nil, "legend": legend, "scale": object{"domain": kinds, "range": []string{"circle", "diamond", "circle", "circle"}}},
				"tooltip": []object{{"field": "s", "title": "step"}, {"field": "n", "title": "repetition"}, {"field": "k", "title": "which"}, {"field": "x", "title": "utilisation, %"}, {"field": "y", "title": "mean wait, ms"}}}},
	)}
}

// describe names, step by step, the farthest distance from the simulation, or
// from the theory of constant service where there is none.
func (in WaitsInput) describe() string {
	var says []string
	for _, step := range distinct(in.stepNames()) {
		var waits, used, far float64
		n, from := 0, "M/D/c"
		for _, p := range in.Points {
			if p.Step != step {
				continue
			}
			expected := in.theoryAt(queue.MDC, p.UtilisationPct)
			if p.SimulatedMs != nil {
				expected, from = *p.SimulatedMs, "the simulation"
			}
			if d := p.MeasuredMs/expected - 1; math.Abs(d) > math.Abs(far) && !math.IsInf(expected, 0) && expected > 0 {
				far = d
			}
			waits, used, n = waits+p.MeasuredMs, used+p.UtilisationPct, n+1
		}
		says = append(says, fmt.Sprintf("%s: at %s\u00a0%% a request waited %s on average, the farthest repetition %s from %s",
			visible(step), trimmed(used/float64(n)), formatValue(waits/float64(n), "ms"), formatEffect(far, true, ""), from))
	}
	return "Mean wait for a worker against utilisation. " + strings.Join(says, "; ") + "."
}

func (in WaitsInput) stepNames() []string {
	names := make([]string, len(in.Points))
	for i, p := range in.Points {
		names[i] = p.Step
	}
	return names
}

func (in WaitsInput) table() Table {
	t := Table{Columns: []string{"Step", "Repetition", "Utilisation, %", "Measured, ms", "Simulated, ms", "M/D/c, ms", "M/M/c, ms"}}
	theory := func(model queue.Model, pct float64) string {
		if ms := in.theoryAt(model, pct); !math.IsNaN(ms) && !math.IsInf(ms, 0) {
			return phrase.Number(ms)
		}
		return "–"
	}
	for _, i := range thin(len(in.Points), 60) {
		p := in.Points[i]
		simulated := "–"
		if p.SimulatedMs != nil {
			simulated = phrase.Number(*p.SimulatedMs)
		}
		t.Rows = append(t.Rows, []string{p.Step, fmt.Sprint(p.Number), phrase.Number(p.UtilisationPct), phrase.Number(p.MeasuredMs), simulated,
			theory(queue.MDC, p.UtilisationPct), theory(queue.MMC, p.UtilisationPct)})
	}
	return t
}
