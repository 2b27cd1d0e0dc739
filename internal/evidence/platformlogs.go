package evidence

import (
	"slices"
	"strings"
)

// newestLast returns the rows in the order of time: exports have the newest
// first.
func (s *sheet) newestLast(when int) []sheetRow {
	rows := slices.Clone(s.rows)
	slices.SortStableFunc(rows, func(x, y sheetRow) int {
		a, okA := s.time(&x, when)
		b, okB := s.time(&y, when)
		if !okA || !okB {
			return 0
		}
		return a.Compare(b)
	})
	return rows
}

// rowLine makes a log line of a row's message.
func (s *sheet) rowLine(row *sheetRow, when, message, app int) *logLine {
	text := row.cell(message)
	l := &logLine{n: row.line, file: s.file.name, text: text, rest: text, bootSeconds: -1, app: siteOf(row.cell(app))}
	l.at, _ = s.time(row, when)
	return l
}

var (
	wholeID       = expression(`^[0-9a-f]{12,64}$`)
	platformState = expression(`State: (\w+), Action: (\w+)`)
	lastError     = expression(`LastError: (\w+)`)
	lastTime      = expression(`LastErrorTimestamp: ([^,)]+)`)
)

// platformLogs reads AppServicePlatformLogs. LastError in a message stays after
// later starts have succeeded, so it makes no event of its own: it says when it
// was instead.
//
// https://learn.microsoft.com/azure/azure-monitor/reference/tables/appserviceplatformlogs
func (b *builder) platformLogs(s *sheet) error {
	when, message, level, app := s.timeColumn(), s.column("Message"), s.column("Level"), s.column("SiteName", "_ResourceId")
	var names map[string]string
	if app < 0 {
		app = s.column("ContainerId")
		names = s.containerApps(app)
	}
	log := b.newLog(s.file.name)
	log.log.As, log.origin = "AppServicePlatformLogs", FromPlatform
	for _, row := range s.newestLast(when) {
		l := s.rowLine(&row, when, message, app)
		if names != nil {
			l.app = names[l.app]
		}
		log.log.Lines++
		log.covers(l)
		e, ok := siteMessage(l, &log.state, l.text)
		if !ok || e.Kind == "" {
			e = platformMessage(l, row.cell(level), l.text)
		}
		if m := platformState().FindStringSubmatch(l.text); m != nil && (e.Kind == "" || e.Kind == PlatformNote) {
			platformSite(&e, m[1], m[2])
		}
		if m := lastError().FindStringSubmatch(l.text); m != nil {
			e.Reason = "LastError " + m[1]
			if t := lastTime().FindStringSubmatch(l.text); t != nil {
				if at, ok := parseTime(t[1]); ok && at.Before(l.at) {
					e.Reason += ", which is of " + at.Format("2006-01-02T15:04:05Z")
				} else if !ok {
					e.Reason = ""
				}
			}
		}
		if e.App == "" {
			e.App = l.app
		}
		if wholeID().MatchString(e.App) {
			e.App = "" // each start has another, so it names no app
		}
		if e.Kind != "" {
			log.take(e, l)
		}
	}
	log.state.nameEvents(log.began)
	b.closeTableLog(log, s)
	return nil
}

func platformSite(e *Event, state, action string) {
	switch state {
	case "Starting", "Started":
		e.Kind, e.Reason = ContainerStarted, state
	case "Stopping", "Stopped":
		e.Kind, e.Reason = ContainerStopped, action
	}
}

// closeTableLog ends a log whose lines are rows.
func (b *builder) closeTableLog(log *logReader, s *sheet) {
	log.log.Origin = log.origin
	b.c.Logs = append(b.c.Logs, log.log)
	note := ""
	if len(s.rows) == 0 {
		note = "it has a heading and no rows"
	}
	b.input(s.file, log.log.As, joinNotes(note, s.cutNote()))
}

// containerAppsRows reads ContainerAppSystemLogs, with and without the suffixes
// of a custom table.
//
// https://learn.microsoft.com/azure/container-apps/log-monitoring
func (b *builder) containerAppsRows(s *sheet) error {
	return b.eventRows(s, eventTable{
		as: "Container Apps system log", origin: FromPlatform, eventOf: containerAppsRow,
		message: s.column("Log_s", "Log"), reason: s.column("Reason_s", "Reason"),
		kind: s.column("Type_s", "Type"), count: s.column("Count_d", "Count"),
		app: s.column("ReplicaName_s", "ReplicaName", "ContainerAppName_s", "ContainerAppName"),
	})
}

// kubeRows reads Log Analytics' KubeEvents.
func (b *builder) kubeRows(s *sheet) error {
	return b.eventRows(s, eventTable{
		as: "Kubernetes events", origin: FromKubernetes, eventOf: kubeEventOf,
		message: s.column("Message"), reason: s.column("Reason"),
		kind: s.column("KubeEventType", "Type"), count: s.column("Count"), app: s.column("Name"),
	})
}

// eventTable says where a table of events has what.
type eventTable struct {
	as                                string
	origin                            Origin
	message, reason, kind, count, app int
	eventOf                           func(l *logLine, kind, reason, message string) Event
}

func (b *builder) eventRows(s *sheet, t eventTable) error {
	when := s.timeColumn()
	log := b.newLog(s.file.name)
	log.log.As, log.origin = t.as, t.origin
	for _, row := range s.newestLast(when) {
		l := s.rowLine(&row, when, t.message, t.app)
		log.log.Lines++
		log.covers(l)
		e := t.eventOf(l, row.cell(t.kind), row.cell(t.reason), l.text)
		if n := parsedNumber(row.cell(t.count), Events, s.from(&row, t.count)); n.Known {
			e.Times = n
		}
		if e.Kind != "" {
			log.takeCounted(e, l)
		}
	}
	log.state.sinceLast()
	b.closeTableLog(log, s)
	return nil
}

// azureMetricsRows reads the table AzureMetrics: a row for each minute, metric
// and resource.
func (b *builder) azureMetricsRows(s *sheet) error {
	when, name, app, unit := s.timeColumn(), s.column("MetricName"), s.column("Resource", "_ResourceId"), s.column("UnitName")
	for _, of := range []string{"Average", "Maximum", "Minimum", "Total", "Count"} {
		column := s.column(of)
		if column < 0 || of == "Count" {
			continue
		}
		place := map[string]int{}
		for i := range s.rows {
			row := &s.rows[i]
			at, ok := s.time(row, when)
			v := parsedNumber(row.cell(column), NoUnit, Source{})
			if !ok || !v.Known {
				switch text := row.cell(column); {
				case noValue(text):
				case !ok:
					s.refuse(row, when, "a time")
				default:
					s.refuse(row, column, "a number")
				}
				continue
			}
			key := row.cell(name) + "\x00" + row.cell(app)
			n, seen := place[key]
			if !seen {
				n = len(b.c.Series)
				place[key] = n
				b.c.Series = append(b.c.Series, Series{Metric: shorten(row.cell(name)), Unit: azureUnit(row.cell(unit), row.cell(name)),
					Of: strings.ToLower(of), App: siteOf(row.cell(app)), From: Source{File: s.file.name, Field: of}})
			}
			b.c.Series[n].Points = append(b.c.Series[n].Points, Point{At: at, Number: v.Number, Line: row.line})
		}
		for _, n := range place {
			sortPoints(&b.c.Series[n])
		}
	}
	b.input(s.file, "AzureMetrics", s.cutNote())
	return nil
}

// azureUnit writes Azure's name of a unit as tables write it.
func azureUnit(unit, metric string) string {
	switch unit {
	case "Percent":
		return "%"
	case "Bytes":
		return "bytes"
	case "Seconds":
		return "s"
	case "MilliSeconds", "Milliseconds":
		return "ms"
	case "":
		return usualUnit(metric)
	}
	return strings.ToLower(unit)
}

func sortPoints(s *Series) {
	slices.SortStableFunc(s.Points, func(a, b Point) int { return a.At.Compare(b.At) })
}
