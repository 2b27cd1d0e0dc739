package record

import (
	"slices"
	"sync"
)

// statement is one of the prepared statements of a writer.
type statement int

const (
	addProbe statement = iota
	addSample
	addEvent
	addLog
	addFact
	addRequirement
	addStep
	setStepOrdinal
	addRepetition
	setRepetition
	addApp
	setAppAddr
	addStream
	setStream
	addOutcome
	finishRun
)

// probeColumns is the number of columns of a probe.
const probeColumns = 13

// statements are written when the first of them is prepared.
var statements = sync.OnceValue(func() []string {
	return []string{
		addProbe: insert("probes", "stream_id", "seq", "due_ns", "sent_ns", "connected_ns", "first_byte_ns",
			"done_ns", "status", "outcome", "err", "pid", "served_ns", "bytes"),
		addSample:      insert("samples", slices.Concat([]string{"repetition_id", "app", "at_ns"}, sampleNames())...),
		addEvent:       insert("events", "repetition_id", "app", "at_ns", "kind", "pid", "code", "signal", "detail"),
		addLog:         insert("logs", "repetition_id", "app", "at_ns", "stream", "line", "cut"),
		addFact:        insert("facts", "name", "value"),
		addRequirement: insert("requirements", "need", "app", "consequence", "substituted"),
		addStep:        insert("steps", "id", "ordinal", "name", "title", "json"),
		setStepOrdinal: "UPDATE steps SET ordinal = ? WHERE id = ?",
		addRepetition: insert("repetitions", "step_id", "number", "position", "twin", "phase", "started_ns",
			"traffic_ns", "traffic_end_ns", "ended_ns", "status", "reason", "limits", "id"),
		setRepetition: `UPDATE repetitions SET step_id = ?, number = ?, position = ?, twin = ?, phase = ?,
		started_ns = ?, traffic_ns = ?, traffic_end_ns = ?, ended_ns = ?, status = ?, reason = ?, limits = ?
		WHERE id = ?`,
		addApp:     insert("apps", "id", "repetition_id", "name", "runtime", "server", "addr", "workers", "json"),
		setAppAddr: "UPDATE apps SET addr = ? WHERE id = ?",
		addStream: insert("streams", "repetition_id", "app_id", "ordinal", "kind", "method", "path", "json",
			"scheduled", "sent", "held", "shortfall", "note", "id"),
		setStream: `UPDATE streams SET repetition_id = ?, app_id = ?, ordinal = ?, kind = ?, method = ?, path = ?,
		json = ?, scheduled = ?, sent = ?, held = ?, shortfall = ?, note = ? WHERE id = ?`,
		addOutcome: insert("outcomes", "id", "name"),
		finishRun:  "UPDATE run SET status = ?, reason = ?, ended_ns = ?",
	}
})
