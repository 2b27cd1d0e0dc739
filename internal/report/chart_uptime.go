package report

import (
	"fmt"
	"strings"

	"brink/internal/phrase"
)

// UptimeInput draws the ups and downs of apps over time: a cascade shows as
// bars that end together.
type UptimeInput struct {
	ID, Title string
	// Apps stand from top to bottom; at most 40 are drawn.
	Apps []AppUptime
}

// AppUptime is one app. Its stretches follow each other in time.
type AppUptime struct {
	App       string
	Stretches []Stretch
	Restarts  int
	// Kills are when its server killed a worker that was still booting, in
	// seconds: the app starts over, and the platform counts no restart.
	Kills []float64
}

// Stretch is a span of time, in seconds, in which an app was in one state.
type Stretch struct {
	From, To float64
	State    AppState
}

// AppState is what an app does during a stretch.
type AppState string

// The states of an app.
const (
	Serving  AppState = "serving"
	Starting AppState = "starting"
	Down     AppState = "down"
)

// Uptime draws a row for each app, with bars for the time in which it served,
// started or was down.
func Uptime(in UptimeInput) (Chart, error) {
	if len(in.Apps) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	apps := in.Apps[:min(len(in.Apps), maxGroups)]
	m := uptimeMarks{table: Table{Columns: []string{"App", "Restarts", "Workers killed while booting", "Serving, s", "Starting, s", "Down, s"}}}
	for _, a := range apps {
		if err := m.add(in.ID, a); err != nil {
			return Chart{}, err
		}
	}
	x := measured("from", "seconds since the first deployment", true)
	x["scale"] = object{"domain": []float64{0, round(m.end)}, "nice": false}
	states := []string{string(Serving), string(Starting), string(Down)}
	spec := object{"height": 30 * len(apps), "layer": layered(object{
		"data": inlineData(m.bars), "mark": object{"type": "bar", "height": 16},
		"encoding": object{
			"y": category("a", m.order), "x": x, "x2": object{"field": "to"},
			"color":   colours("s", states, object{"symbolOpacity": 1}),
			"tooltip": []object{{"field": "a", "title": "app"}, {"field": "s", "title": "state"}, {"field": "from", "title": "from"}, {"field": "to", "title": "to"}},
		},
	}, object{
		"data": inlineData(m.kills), "mark": object{"type": "tick", "thickness": 3, "size": 22, "style": "kill"},
		"encoding": object{"y": category("a", m.order), "x": x, "tooltip": []object{{"field": "a", "title": "app"}, {"field": "from", "title": "worker killed at"}}},
	})}
	alt := fmt.Sprintf("%s: %s in all, %d at most for one app.", phrase.Plural(len(apps), "app"), phrase.Plural(m.restarts, "restart"), m.most)
	note := ""
	if len(m.kills) > 0 {
		alt += fmt.Sprintf(" Their own servers killed %s that had not booted yet.", phrase.Plural(len(m.kills), "worker"))
		note = "Dark ticks: a server kills a worker that is still booting, which then begins again; the platform counts no restart."
	}
	if len(apps) < len(in.Apps) {
		note = strings.TrimSpace(note + fmt.Sprintf(" Drawn are the first %d of %d apps.", len(apps), len(in.Apps)))
	}
	return newChart(in.ID, in.Title, alt, note, spec, m.table)
}

// uptimeMarks are what is drawn and told of apps.
type uptimeMarks struct {
	order          []string
	bars, kills    []object
	restarts, most int
	end            float64
	table          Table
}

// add takes in an app; id is the chart's.
func (m *uptimeMarks) add(id string, a AppUptime) error {
	name := visible(a.App)
	m.order = append(m.order, name)
	for _, i := range thin(len(a.Stretches), maxPoints) {
		s := a.Stretches[i]
		m.bars = append(m.bars, object{"a": name, "from": round(s.From), "to": round(s.To), "s": string(s.State)})
	}
	spent := map[AppState]float64{}
	for _, s := range a.Stretches {
		if err := checkFinite(id, s.From, s.To); err != nil {
			return err
		}
		spent[s.State] += s.To - s.From
		m.end = max(m.end, s.To)
	}
	if err := checkFinite(id, a.Kills...); err != nil {
		return err
	}
	for _, at := range a.Kills {
		m.kills = append(m.kills, object{"a": name, "from": round(at)})
	}
	m.restarts += a.Restarts
	m.most = max(m.most, a.Restarts)
	m.table.Rows = append(m.table.Rows, []string{a.App, fmt.Sprint(a.Restarts), fmt.Sprint(len(a.Kills)), phrase.Number(spent[Serving]), phrase.Number(spent[Starting]), phrase.Number(spent[Down])})
	return nil
}
