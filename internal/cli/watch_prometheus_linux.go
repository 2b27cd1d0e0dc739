package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// exporterProgram serves metrics. It is a program of its own, since what it
// stands on would make every start of brink slower.
const exporterProgram = "brink-exporter"

// export turns this process into the exporter, which lies beside brink. It
// returns only if that fails.
func (a *app) export(o watching) error {
	self, err := os.Executable()
	if err != nil {
		return broken(fmt.Errorf("--prometheus: %w", err))
	}
	path := filepath.Join(filepath.Dir(self), exporterProgram)
	if _, err := exec.LookPath(path); err != nil {
		return badInput(fmt.Errorf("--prometheus needs the program %s beside brink, and there is none in %s that may be run", exporterProgram, filepath.Dir(path)))
	}
	args := append([]string{exporterProgram}, o.exporterArguments(a.quiet)...)
	return broken(fmt.Errorf("--prometheus: %s: %w", path, syscall.Exec(path, args, os.Environ())))
}

// exporterArguments says the same as brink's own command line.
func (o *watching) exporterArguments(quiet bool) []string {
	args := []string{"--every=" + o.every.String()}
	if o.lasts > 0 {
		args = append(args, "--for="+o.lasts.String())
	}
	for _, address := range o.listen {
		args = append(args, "--listen="+address)
	}
	for _, pid := range o.pids {
		args = append(args, "--pid="+strconv.Itoa(pid))
	}
	if quiet {
		args = append(args, "--quiet")
	}
	return append(args, "--", o.prometheus)
}
