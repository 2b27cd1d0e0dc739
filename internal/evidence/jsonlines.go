package evidence

import (
	"bytes"
	"encoding/json"
	"strings"
)

// jsonLines reads a file of JSON values as a log: the message of each is a line.
// Most have a value a line; "journalctl -o json-pretty" has a field a line.
func (b *builder) jsonLines(f *file) bool {
	r := b.newLog(f.name)
	if first, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'}); !json.Valid(first) && r.jsonValues(f.data) {
		r.close()
		b.input(f, "log in JSON", "")
		return true
	}
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		v, _, err := decodeJSON(bytes.TrimSpace(line[:min(len(line), 1<<20)]))
		o, ok := v.(object)
		if err != nil || !ok {
			r.line(n, string(bytes.TrimRight(line[:min(len(line), mostLine)], "\r\n")), zeroTime, "")
			continue
		}
		r.jsonObject(n, o)
	}
	r.close()
	b.input(f, "log in JSON", "")
	return true
}

// jsonValues takes in values that stand over several lines each; false if they are
// no objects.
func (r *logReader) jsonValues(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	n, counted := 1, int64(0)
	for d.More() {
		var o object
		if err := d.Decode(&o); err != nil {
			return n > 1
		}
		end := d.InputOffset()
		r.jsonObject(n, o)
		n += bytes.Count(data[counted:end], []byte{'\n'})
		counted = end
	}
	return true
}

func (r *logReader) jsonObject(n int, o object) {
	text := firstText(o, "message", "msg", "Message", "log", "MESSAGE", "ResultDescription", "_msg", "@m", "@message",
		"RenderedMessage", "short_message", "textPayload", "body", "event")
	if text == "" {
		text = containerAppsConsole(textOf(o["Log"]))
	}
	if event, when := dockerEventText(o); event != "" {
		r.line(n, event, when, "")
		return
	}
	at, _ := parseTime(firstText(o, "timestamp", "time", "ts", "@timestamp", "@t", "TimeGenerated", "TimeStamp"))
	if at.IsZero() {
		at, _ = parseEpoch(firstText(o, "__REALTIME_TIMESTAMP", "ts", "time"))
	}
	if reason := firstText(o, "Reason"); reason != "" && o["Msg"] != nil {
		r.containerAppsObject(n, o, at)
		return
	}
	if firstText(o, "_TRANSPORT") == "kernel" || firstText(o, "SYSLOG_IDENTIFIER") == "kernel" {
		text = kernelStamp(firstText(o, "_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP")) + text
		r.origin = FromKernel
	}
	r.line(n, strings.TrimRight(text, "\r\n"), at, "")
}
