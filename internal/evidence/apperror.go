package evidence

import "strings"

var (
	// errorItself is the part of a line that says what went wrong: an exception
	// with its message as Python, Java, .NET and Node.js print it, a panic of Go,
	// what git and shells call fatal or not found.
	errorItself = expression(`((?:[A-Za-z_][\w.$]*\.)?[A-Z]\w*(?:Error|Exception|NotFound)(?: \[\w+\])?: \S.*|\bError(?: \[\w+\])?: \S.*|\b(?:panic|fatal): \S.*|\S+: (?:command )?not found)$`)
	// shellError is a shell that cannot run a command: "run.sh: 12: gunicorn: not
	// found", "bash: line 1: node: command not found".
	shellError = expression(`^(?:-?\w*sh: (?:(?:line )?\d+: )?|(?:\S*/\S+|\S+\.sh): (?:line )?\d+: )(?:exec: )?\S+: (?:(?:command )?not found|cannot execute.*|Permission denied|No such file or directory)$`)
)

// shellErrorText says that a line is a shell's that cannot run a command.
func shellErrorText(text string) bool {
	for _, word := range []string{"not found", "cannot execute", "Permission denied", "No such file"} {
		if strings.Contains(text, word) {
			return shellError().MatchString(strings.TrimSpace(text))
		}
	}
	return false
}

// errorOf is what a line says went wrong, without secrets; empty where it only
// says that something did.
func errorOf(text string) string {
	text = strings.TrimSpace(text)
	m := errorItself().FindString(text)
	if m == "" {
		m = shellError().FindString(text)
	}
	return redactText(shorten(m))
}

// RefusedMemory is the reason of an [AppError] that tells that the kernel
// refused memory (ENOMEM).
const RefusedMemory = "memory was refused"

// refusedMemory says that a program was refused memory: by the words of the C
// library, or by PostgreSQL's own.
//
// https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-MEMORY-OVERCOMMIT
func refusedMemory(text string) bool {
	for _, word := range []string{"Cannot allocate memory", "ENOMEM", "errno 12", "Errno 12", "ERROR:  out of memory"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
