package doctor

import (
	"cmp"

	"brink/internal/evidence"
)

// timeoutWords are what holds of one server when it gives up its own workers.
type timeoutWords struct {
	// did is what the workers did wrong, took what was longer than the time-out that
	// it ends with, find what to look for, back the advice about backends and times
	// what else would settle it; those of most servers are told where these are empty.
	did, took, find, back, times string
	// cause is why a worker does not report.
	cause string
	// setting is the time-out, as the server calls it.
	setting string
	// ownKill is what in its log shows that SIGKILL was its own.
	ownKill string
	// properly is what helps beside shorter calls to backends.
	properly string
	// stack is what shows in which call a worker is.
	stack string
}

const notInLog = " What held it (a slow backend, a long computation, a machine short of memory) is not in the log."

var gunicornWords = timeoutWords{
	cause:    "A sync worker serves one request at a time and cannot report while it does." + notInLog,
	setting:  "--timeout",
	ownKill:  "SIGKILL came from the server itself, right after WORKER TIMEOUT of the same worker; the words 'Perhaps out of memory?' are printed for every SIGKILL",
	properly: "Move long work out of requests, or use threads (gthread), which report while they work.",
	stack:    "py-spy dump",
}

// timeoutsOf are the words of the servers that do it in another way.
//
// https://uwsgi-docs.readthedocs.io/en/latest/Options.html#harakiri
// https://yhbt.net/unicorn/Unicorn/Configurator.html#method-i-timeout
// https://github.com/puma/puma/blob/master/lib/puma/dsl.rb (worker_timeout)
// https://www.php.net/manual/en/install.fpm.configuration.php (request_terminate_timeout)
var timeoutsOf = map[string]timeoutWords{
	"uwsgi": {
		did:      "took too long over one request",
		took:     "a request took longer than harakiri, the time-out",
		cause:    "One request took longer than harakiri allows; uWSGI then kills the worker with the request in it." + notInLog,
		setting:  "harakiri",
		ownKill:  "SIGKILL came from uWSGI itself: HARAKIRI stands in the log right before the end of the same worker",
		properly: "Move long work out of requests (spooler, a queue).",
		stack:    "py-spy dump, or py-tracebacker",
	},
	"Unicorn": {
		did:      "did not come back from a request or a boot in time",
		cause:    "A worker serves one request at a time; the master kills one that has not come back from it in time." + notInLog,
		setting:  "timeout",
		ownKill:  "SIGKILL came from Unicorn itself: the line before says which worker was over its time-out",
		properly: "Move long work out of requests into a job.",
		stack:    "rbspy dump",
	},
	"Puma": {
		did:  "gave no sign of life in time",
		took: "the process was silent for longer than the server's time-out",
		find: "See what the machine was short of in these minutes (CPU, memory, swap traffic).",
		cause: "A worker of Puma reports from a thread of its own, whatever its requests do. That it did not means that the whole process stood still: native code that keeps the interpreter's lock, a machine short of CPU or memory." +
			" Which, the log does not tell.",
		setting:  "worker_timeout",
		ownKill:  "SIGKILL came from Puma itself, after it had told that the worker was over its time-out",
		properly: "See what stops the whole process: memory and CPU of the machine, extensions in C; a slow request alone does not.",
		stack:    "rbspy dump, or gdb for native code",
	},
	"php-fpm": {
		did:      "took too long over one request",
		took:     "a request took longer than the time-out",
		cause:    "One request took longer than request_terminate_timeout allows; php-fpm then ends the child with the request in it." + notInLog,
		setting:  "request_terminate_timeout",
		ownKill:  "the signal came from php-fpm itself, which says so of the script before",
		properly: "Move long work out of requests.",
		stack:    "the slow log: request_slowlog_timeout",
	},
	"Celery": {
		did:      "took too long over one task",
		took:     "a task took longer than its hard time limit",
		find:     "See which tasks they were (their names stand in the lines of the limit), and what they wait for.",
		back:     "Give calls to backends a time-out shorter than the task's limit.",
		times:    "How long tasks of the same name take otherwise (\"succeeded in\").",
		cause:    "One task took longer than its hard time limit; Celery then kills the process with the task in it." + notInLog,
		setting:  "task_time_limit",
		ownKill:  "SIGKILL came from Celery itself: the line of the hard time limit stands before",
		properly: "Cut long tasks into shorter ones; a soft limit (task_soft_time_limit) lets a task end in order.",
		stack:    "py-spy dump",
	},
}

// timeouts are the words of the server that wrote a crew's log.
func (c *crew) timeouts() timeoutWords {
	if w, ok := timeoutsOf[c.server]; ok {
		return w
	}
	return gunicornWords
}

// timeoutAdvice tells why workers did not report, and what to do, in the words
// of their server.
func timeoutAdvice(l *look, f *Finding, c *crew, killed []*evidence.Event) {
	w := c.timeouts()
	f.Cause = w.cause
	if len(killed) > 0 {
		f.not("out of memory", w.ownKill)
	}
	f.not("a crash of the program", "the server ended the worker because it "+cmp.Or(w.did, "did not report in time")+", and says so")
	f.Now = []string{cmp.Or(w.find, "Find the request that takes so long (access log, APM), or the backend that it waits for."),
		"Raise " + w.setting + " only if work may really take that long."}
	f.Properly = []string{cmp.Or(w.back, "Give calls to backends a time-out shorter than the worker's."), w.properly}
	f.Settle = []string{"A stack of the worker while it hangs (" + w.stack + ").", cmp.Or(w.times, "Times of the requests just before the time-out.")}
	if slow := l.slowRequests(c.app); len(slow) > 0 && slow[0].From.File == c.file {
		f.What += " " + slowText(&f.words, slow)
	}
}

// bootWords are how a server is called, its time-out for a boot, and how it loads
// the app once for all workers. Boots of php-fpm and uWSGI have no time-out.
//
// https://github.com/puma/puma/blob/master/lib/puma/dsl.rb (worker_boot_timeout)
func (c *crew) bootWords() (server, setting, preload string) {
	switch c.server {
	case "Puma":
		return "Puma", "worker_boot_timeout", "preload_app!"
	case "Unicorn":
		return "Unicorn", "timeout", "preload_app"
	}
	return "gunicorn", "--timeout", "--preload"
}
