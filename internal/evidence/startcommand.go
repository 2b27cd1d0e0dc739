package evidence

import (
	"bytes"
	"path"
	"strings"
)

// servers are the programs that a start command may name.
var servers = []string{"gunicorn", "uvicorn", "hypercorn", "uwsgi", "php-fpm", "puma", "unicorn", "node", "pm2", "npm", "java", "dotnet", "daphne", "waitress-serve", "flask"}

// parseStartCommand reads a file that holds the command which starts the
// server: startup.sh, Procfile, a single line.
func (b *builder) parseStartCommand(f *file) bool {
	if len(f.data) > 16<<10 {
		return false
	}
	n, found := 0, false
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if _, rest, ok := strings.Cut(text, "web:"); ok && strings.HasPrefix(text, "web:") {
			text = strings.TrimSpace(rest)
		}
		if serverOf(strings.Fields(text)) == "" || strings.Contains(text, "] [") {
			continue
		}
		if _, _, stamped := stamp(text); stamped {
			return false
		}
		b.startCommand(text, Source{File: f.name, Line: n})
		found = true
	}
	if found {
		b.input(f, "start command", "")
	}
	return found
}

// serverOf finds the server that a command runs: the last of several commands
// that is one, since those before it prepare.
func serverOf(words []string) string {
	found, begin := "", 0
	for i := 0; i <= len(words); i++ {
		if i < len(words) && words[i] != "&&" && words[i] != "||" && words[i] != "|" && !strings.HasSuffix(words[i], ";") {
			continue
		}
		if s := programOf(words[begin:i]); s != "" {
			found = s
		}
		begin = i + 1
	}
	return found
}

// programOf finds the server of one command, behind variables, wrappers and
// "python -m".
func programOf(words []string) string {
	for i, w := range words {
		if i > 12 {
			break
		}
		base := path.Base(strings.Trim(w, `"'`))
		for _, s := range servers {
			if base == s || strings.HasPrefix(base, s) && strings.Trim(base[len(s):], "0123456789.") == "" {
				return s
			}
		}
		switch {
		case strings.Contains(w, "="), strings.HasPrefix(w, "-"):
		case base == "exec", base == "env", base == "sh", base == "bash", base == "nohup", base == "tini", base == "dumb-init",
			base == "python", base == "python3", base == "poetry", base == "pipenv", base == "run", base == "bundle", base == "sudo", base == "time":
		case strings.Contains(base, ";") || base == "cd" || strings.HasPrefix(w, "/"):
		default:
			return ""
		}
	}
	return ""
}

// startCommand takes in a command.
func (b *builder) startCommand(text string, from Source) {
	words := strings.Fields(strings.ReplaceAll(text, `"`, ""))
	s := StartCommand{Text: redactText(shorten(text)), From: from, Server: serverOf(words)}
	option := func(unit Unit, names ...string) Value {
		text, ok := optionOf(words, names...)
		if !ok {
			return Missing(Absent, "the command does not say", from)
		}
		at := from
		at.Field = strings.TrimPrefix(at.Field+" "+names[0], " ")
		return parsedNumber(text, unit, at)
	}
	s.Workers = option(Events, "--workers", "-w", "--processes", "--processes=", "-p")
	if s.Server == "uwsgi" {
		s.Workers = option(Events, "--processes", "--workers", "-p")
	} else if s.Server != "uvicorn" && s.Server != "gunicorn" && s.Server != "hypercorn" {
		s.Workers = option(Events, "--workers", "-w")
	}
	s.Threads = option(Events, "--threads", "-t")
	if s.Server == "gunicorn" {
		s.Threads = option(Events, "--threads")
		s.Workers = option(Events, "--workers", "-w")
		s.Timeout = option(Seconds, "--timeout", "-t")
	} else {
		s.Timeout = option(Seconds, "--harakiri", "--timeout")
	}
	s.Backlog = option(Events, "--backlog", "--listen", "-l")
	s.MaxReqs = option(Events, "--max-requests")
	s.Class, _ = optionOf(words, "--worker-class", "-k")
	for _, w := range words {
		if w == "--preload" {
			s.Preload = Yes
		}
	}
	for _, name := range []string{"--bind", "-b", "--http", "--http-socket", "--socket", "--port", "-p"} {
		if bind, ok := optionOf(words, name); ok && s.Port == 0 {
			if _, s.Port = hostPort(bind); s.Port == 0 {
				s.Port = atoi(bind)
			}
		}
	}
	b.c.Config.Start = append(b.c.Config.Start, s)
}

// optionOf finds the value of an option in its forms: "--x 4", "--x=4", "-w4".
func optionOf(words []string, names ...string) (string, bool) {
	for i, w := range words {
		for _, name := range names {
			switch {
			case w == name && i+1 < len(words):
				return words[i+1], true
			case strings.HasPrefix(w, name+"="):
				return w[len(name)+1:], true
			case len(name) == 2 && len(w) > 2 && strings.HasPrefix(w, name) && w[2] >= '0' && w[2] <= '9':
				return w[2:], true
			}
		}
	}
	return "", false
}
