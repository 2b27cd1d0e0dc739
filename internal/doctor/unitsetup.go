package doctor

import "brink/internal/evidence"

// Of these exit codes systemd itself makes use, for a process that it could not
// set up as the unit asks: EXIT_CHDIR is the first.
//
// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Process%20Exit%20Codes
const (
	setUpFirst = 200
	setUpLast  = 245
	setUpExec  = 203
)

// neverSetUp says of a unit that its program was never run.
func neverSetUp(f *Finding, end *evidence.Event) {
	if end.Origin != evidence.FromSystem || !end.Code.AtLeast(setUpFirst) || !end.Code.AtMost(setUpLast) {
		return
	}
	f.Cause = "systemd could not set the process up as the unit asks (user, folder, namespace, limits): the program itself never ran."
	if end.Code.Number == setUpExec {
		f.Cause = "systemd could not execute the program (203/EXEC): the file of ExecStart= is missing, not executable, or its interpreter is missing. It never ran."
	}
	f.not("a crash of the program", "this exit code is systemd's own, from before the program was run")
	f.Now = []string{"Read the line before the end (Failed at step …), and look at the path, its rights and its first line."}
	f.Properly = []string{"Install the program before the unit that starts it; systemd-analyze verify finds a missing one."}
	f.Settle = []string{"systemctl status and systemctl cat of the unit."}
}
