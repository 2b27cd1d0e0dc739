package evidence

var dmesgStamp = expression(`^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}\] [^\[\s]`)

// dmesgLine knows the other lines of dmesg -T by their time in brackets. Old
// releases of Apache write the same, and a level in brackets behind it. What the
// kernel did not log in a time that its log covers is worth to know.
func dmesgLine(l *logLine, _ *logState) (Event, bool) {
	return Event{}, dmesgStamp().MatchString(l.text)
}
