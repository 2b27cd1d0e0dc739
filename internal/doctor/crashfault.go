package doctor

import (
	"slices"
	"strings"
	"time"

	"brink/internal/evidence"
)

// faultNear is how far apart the kernel's line about a fault and the end of the
// program may stand: two clocks, and a core to be written in between. A guess.
const faultNear = 10 * time.Second

// mostComm is how much of a program's name the kernel keeps (TASK_COMM_LEN - 1).
const mostComm = 15

// faultOf is the kernel's line about the fault of a program that ended at some time,
// nil without one: of that name, or of that time.
func (l *look) faultOf(name string, end time.Time) *evidence.Event {
	for _, e := range slices.Backward(l.EventsOf(evidence.Faulted)) {
		timed := !end.IsZero() && !e.At.IsZero()
		if timed && end.Sub(e.At).Abs() <= faultNear || !timed && name != "" && sameProgram(e.Comm, name[:min(len(name), mostComm)]) {
			return e
		}
	}
	return nil
}

// faultOfPID is the kernel's line about the fault of a process, nil without one.
func (l *look) faultOfPID(pid int) *evidence.Event {
	for _, e := range slices.Backward(l.EventsOf(evidence.Faulted)) {
		if e.PID == pid {
			return e
		}
	}
	return nil
}

// tellFault is a sentence with what the kernel says of a fault, empty without one.
func tellFault(e *evidence.Event) string {
	if e == nil {
		return ""
	}
	text := " The kernel's log has it: " + e.Reason + " of " + e.Comm
	if e.Frame != "" {
		text += " in " + e.Frame
	}
	return text + " (" + e.From.String() + ")."
}

// faultCause tells of a program that ends by a signal that it brings on itself.
func faultCause(f *Finding, signal string, fault *evidence.Event) {
	f.Cause = "It is ended by signal " + signal + ": the program itself did what the kernel or its library ends. Native modules are the first suspect."
	f.not("an exception in the program", "that would leave an exit code below 126")
	f.Now = []string{"Get a core or a native stack (coredumpctl, faulthandler); the kernel's log names the library of a segfault."}
	f.Settle = []string{"A core file, or the kernel log's line about the segfault."}
	if fault == nil {
		return
	}
	f.What += tellFault(fault)
	f.Settle = []string{"A core file: the stack that led there."}
	f.Cause = "It is ended by signal " + signal + ": a fault in its own code or in a library that it loads."
	f.Now = []string{"Get a core or a native stack (coredumpctl, faulthandler)."}
	if fault.Frame != "" {
		f.Cause = "It is ended by signal " + signal + ": a fault in " + fault.Frame + ", by the kernel's log. What called it with what, a stack tells."
		f.Now = []string{"Update " + fault.Frame + " or what brings it, or go back to the version before.", "Get a core or a native stack (coredumpctl, faulthandler)."}
	}
}

var notExecuted = expression(`^(?:exec \S|standard_init_linux\.go:).*?(?i:(exec format error|no such file or directory|permission denied))`)

// neverExecuted tells of a program that the kernel would not run, as its container's
// log says.
//
// https://man7.org/linux/man-pages/man2/execve.2.html (ENOEXEC, ENOENT, EACCES)
func neverExecuted(f *Finding, e *evidence.Event) bool {
	m := notExecuted().FindStringSubmatch(e.Error)
	if m == nil {
		return false
	}
	switch strings.ToLower(m[1]) {
	case "exec format error":
		f.Cause = "The kernel cannot run the file (exec format error): the image is for another architecture, or a script begins without #! and its interpreter. The program never ran."
		f.Now = []string{"Compare uname -m of the machine with the image's architecture (docker image inspect), and build it for that (docker buildx build --platform).", "If it is a script, look at its first line."}
	case "permission denied":
		f.Cause = "The kernel may not run the file: it is not executable, or lies on a file system mounted noexec. The program never ran."
		f.Now = []string{"Make it executable in the image (chmod +x, COPY --chmod)."}
	default:
		f.Cause = "The file, or the interpreter or loader that it names, is not in the image; a script with \\r at the end of its first line names none. The program never ran."
		f.Now = []string{"Look for the file and what its first line or its loader (ldd) names in the image."}
	}
	f.not("a crash of the program", "it was never run")
	f.not("too little memory", "nothing ran that could have used it")
	f.Settle = []string{"One start of the image on the same machine (docker run)."}
	return true
}
