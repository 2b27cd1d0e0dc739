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
	var rows []object
	var order []string
	var kills []object
	restarts, most, end := 0, 0, 0.0
	table := Table{Columns: []string{"App", "Restarts", "Workers killed while booting", "Serving, s", "Starting, s", "Down, s"}}
	for _, a := range apps {
		order = append(order, visible(a.App))
		spent := map[AppState]float64{}
		for _, i := range thin(len(a.Stretches), maxPoints) {
			s := a.Stretches[i]
			if err := checkFinite(in.ID, s.From, s.To); err != nil {
				return Chart{}, err
			}
			rows = append(rows, object{"a": visible(a.App), "from": round(s.From), "to": round(s.To), "s": string(s.State)})
		}
		for _, s := range a.Stretches {
			spent[s.State] += s.To - s.From
			end = max(end, s.To)
		}
		for _, at := range a.Kills {
			if err := checkFinite(in.ID, at); err != nil {
				return Chart{}, err
			}
			kills = append(kills, object{"a": visible(a.App), "from": round(at)})
		}
		restarts += a.Restarts
		most = max(most, a.Restarts)
		table.Rows = append(table.Rows, []string{a.App, fmt.Sprint(a.Restarts), fmt.Sprint(len(a.Kills)), phrase.Number(spent[Serving]), phrase.Number(spent[Starting]), phrase.Number(spent[Down])})
	}
	x := measured("from", "seconds since the first deployment", true)
	x["scale"] = object{"domain": []float64{0, round(end)}, "nice": false}
	states := []string{string(Serving), string(Starting), string(Down)}
	spec := object{"height": 30 * len(apps), "layer": layered(object{
		"data": inlineData(rows), "mark": object{"type": "bar", "height": 16},
		"encoding": object{
			"y": category("a", order), "x": x, "x2": object{"field": "to"},
			"color":   colours("s", states, object{"symbolOpacity": 1}),
			"tooltip": []object{{"field": "a", "title": "app"}, {"field": "s", "title": "state"}, {"field": "from", "title": "from"}, {"field": "to", "title": "to"}},
		},
	}, object{
		"data": inlineData(kills), "mark": object{"type": "tick", "thickness": 3, "size": 22, "style": "kill"},
		"encoding": object{"y": category("a", order), "x": x, "tooltip": []object{{"field": "a", "title": "app"}, {"field": "from", "title": "worker killed at"}}},
	})}
	alt := fmt.Sprintf("%s: %s in all, %d at most for one app.", phrase.Plural(len(apps), "app"), phrase.Plural(restarts, "restart"), most)
	note := ""
	if len(kills) > 0 {
		alt += fmt.Sprintf(" Their own servers killed %s that had not booted yet.", phrase.Plural(len(kills), "worker"))
		note = "Dark ticks: a server kills a worker that is still booting, which then begins again; the platform counts no restart."
	}
	if len(apps) < len(in.Apps) {
		note = strings.TrimSpace(note + fmt.Sprintf(" Drawn are the first %d of %d apps.", len(apps), len(in.Apps)))
	}
	return newChart(in.ID, in.Title, alt, note, spec, table)
}
