package evidence

import "strings"

var (
	composePrefix = expression(`^([A-Za-z][\w.-]{0,80}?) +\| `)
	criPrefix     = expression(`^(` + iso + `) (stdout|stderr) [FP] `)
	syslogPrefix  = expression(`^(?:` + iso + `|\pL{3,9}\.? +\d{1,2} \d{2}:\d{2}:\d{2}|\d{1,2} \pL{3,9}\.? \d{2}:\d{2}:\d{2}|\pL{3,9} \d{1,2} \d{2}:\d{2}:\d{2}) ([^\s\[]\S*) ([\w./-]+)(?:\[\d+\])?: `)
	// noMachine stands where syslog has the machine's name, and is none: levels,
	// and the first words of App Service's messages ("Starting container: …").
	noMachine = expression(`^(?:FATAL|CRITICAL|SEVERE|ERROR|WARN|WARNING|NOTICE|INFO|DEBUG|TRACE|Starting|Stopping|Deleting|Creating|Removing|Restarting|Recycling|Site|Pulling|Container|Image)$`)
	colours   = expression(`\x1b\[[0-9;]*[A-Za-z]`)
	// rubyLogger is what the logger of Ruby's library puts before a line: the
	// level's letter, the time and the process.
	rubyLogger    = expression(`^[DIWEFA], \[(` + iso + `) +#\d+\]`)
	kubectlPrefix = expression(`^\[pod/([\w.-]+)/[\w.-]+\] `)
)

// unwrap takes off what docker compose, kubectl, a container runtime, syslog or
// a log shipper put before a line, and reads the times that are left. A shipper
// that adds its own time leaves two: the program's is the truer one.
func unwrap(n int, file, text string) *logLine {
	l := &logLine{n: n, file: file, bootSeconds: -1}
	if strings.Contains(text, "\x1b[") {
		text = colours().ReplaceAllString(text, "")
	}
	text = l.unwrapJournal(text)
	if m := composePrefix().FindStringSubmatchIndex(text); m != nil {
		l.app, text = text[m[2]:m[3]], text[m[1]:]
	} else if m := kubectlPrefix().FindStringSubmatchIndex(text); m != nil {
		l.app, text = text[m[2]:m[3]], text[m[1]:]
	}
	if m := criPrefix().FindStringSubmatchIndex(text); m != nil {
		l.at, _ = parseISO(text[m[2]:m[3]])
		text = text[m[1]:]
	}
	if m := syslogPrefix().FindStringSubmatchIndex(text); m != nil && !noMachine().MatchString(text[m[2]:m[3]]) {
		program := text[m[4]:m[5]]
		l.program = program
		if at, _, ok := stamp(text); ok {
			l.at = at
		}
		if program != "kernel" {
			l.app = program
		}
		text = text[m[1]:]
	}
	at, rest, ok := stamp(text)
	l.text, l.rest = text, text
	if !ok {
		if m := rubyLogger().FindStringSubmatch(text); m != nil {
			l.at, _ = parseISO(m[1])
		}
		return l
	}
	l.at, l.rest = at, strings.TrimLeft(rest, " ")
	if again, after, ok := stamp(l.rest); ok {
		// What follows a shipper's time is the line as the program wrote it.
		l.at, l.text, l.rest = again, l.rest, strings.TrimLeft(after, " ")
	}
	return l
}
