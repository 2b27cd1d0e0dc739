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
	// notRun is what a container runtime leaves in the container's log where the kernel
	// would not run the program: runc now and before 1.1, and crun.
	notRun = expression(`^(?:exec (?:container process )?\S+: |standard_init_linux\.go:\d+: exec user process caused:? )"?(?i:exec format error|no such file or directory|permission denied)"?$`)
)

// shellErrorText says that a line is a shell's that cannot run a command, or a
// container runtime's.
func shellErrorText(text string) bool {
	for _, word := range []string{"not found", "cannot execute", "Permission denied", "No such file"} {
		if strings.Contains(text, word) && shellError().MatchString(strings.TrimSpace(text)) {
			return true
		}
	}
	return strings.Contains(text, "exec ") && notRun().MatchString(strings.TrimSpace(text))
}

// errorOf is what a line says went wrong, without secrets; empty where it only
// says that something did.
func errorOf(text string) string {
	text = strings.TrimSpace(text)
	m := errorItself().FindString(text)
	if m == "" {
		m = shellError().FindString(text)
	}
	if m == "" {
		m = notRun().FindString(text)
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
