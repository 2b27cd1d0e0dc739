package evidence

import "testing"

// The lines are as the programs of their names print them.
func TestWhatALineSaysWentWrong(t *testing.T) {
	for line, want := range map[string]string{
		"2026-01-02T03:04:05Z ModuleNotFoundError: No module named 'yaml'":                          "ModuleNotFoundError: No module named 'yaml'",
		"django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty.":    "",
		"redis.exceptions.ConnectionError: Error 111 connecting to cache:6379. Connection refused.": "redis.exceptions.ConnectionError: Error 111 connecting to cache:6379. Connection refused.",
		`Exception in thread "main" java.lang.IllegalStateException: no bean`:                       "java.lang.IllegalStateException: no bean",
		"Error: Cannot find module 'express'":                                                       "Error: Cannot find module 'express'",
		"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'ws'":                                    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'ws'",
		"TypeError [ERR_INVALID_ARG_TYPE]: The path must be a string":                               "TypeError [ERR_INVALID_ARG_TYPE]: The path must be a string",
		"panic: runtime error: index out of range [3] with length 3":                                "panic: runtime error: index out of range [3] with length 3",
		"Unhandled exception. System.IO.FileNotFoundException: Could not load file 'App.dll'":       "System.IO.FileNotFoundException: Could not load file 'App.dll'",
		"/opt/startup/startup.sh: 23: gunicron: not found":                                          "gunicron: not found",
		"bash: line 1: node: command not found":                                                     "node: command not found",
		"sh: 1: ./run: Permission denied":                                                           "sh: 1: ./run: Permission denied",
		"sqlalchemy.exc.OperationalError: could not connect to postgresql://app:hunter22@db/app":    "sqlalchemy.exc.OperationalError: could not connect to postgresql://***@db/app",
		"Traceback (most recent call last):":                                                        "",
		"/usr/bin/warm: /var/cache/x: Permission denied":                                            "",
		"[ERROR] Exception in worker process":                                                       "",
		"GET /missing HTTP/1.1 404 page not found":                                                  "",
	} {
		if got := errorOf(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestAShellThatFindsNoCommandIsAnError(t *testing.T) {
	wantEvents(t, readFile(t, "console.log", "starting\n/app/run.sh: 7: celry: not found\nbye: page /x not found\n"),
		"app error", "app progress", "app progress")
}

func FuzzErrorOf(f *testing.F) {
	f.Add("ModuleNotFoundError: No module named 'yaml'")
	f.Add("/opt/startup/startup.sh: 23: gunicron: not found")
	f.Fuzz(func(t *testing.T, line string) {
		if got := errorOf(line); len(got) > 2*len(line)+8*len(blanked) {
			t.Errorf("%q became %q", line, got)
		}
	})
}
