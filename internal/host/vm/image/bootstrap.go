package image

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// kernelHook fetches the kernel's package and unpacks it beside the root file
// system. Installing it would bring an initial RAM disk's tools along.
//
//go:embed kernel-hook.sh
var kernelHook string

// ErrNoBootstrap is returned when mmdebstrap is missing.
var ErrNoBootstrap = errors.New("mmdebstrap is not installed; install it with: apt-get install mmdebstrap")

// means is what a build needs of the machine.
type means struct {
	mmdebstrap string
	// mode is how mmdebstrap gets the rights of root inside the tree.
	mode string
	from []string
}

// findMeans says what is missing before anything is fetched.
func findMeans(mirror, suite string) (m means, err error) {
	if _, err := findMke2fs(); err != nil {
		return m, err
	}
	if m.mmdebstrap, err = exec.LookPath("mmdebstrap"); err != nil {
		return m, ErrNoBootstrap
	}
	if m.mode, err = bootstrapMode(); err != nil {
		return m, err
	}
	m.from = []string{mirror}
	if mirror == "" {
		m.from, err = sources("/etc/apt", suite)
	}
	return m, err
}

// bootstrap makes the root file system in the builder's tree.
func (b *builder) bootstrap(ctx context.Context, packages []string) error {
	// To /bin/sh, which hooks are given to, the first argument is the tree.
	hook := fmt.Sprintf("kernel=%s into=%s\n%s", b.recipe.Kernel, kernelDir, kernelHook)
	args := []string{
		"--mode=" + b.means.mode, "--variant=essential", "--format=tar",
		"--include=" + strings.Join(packages, ","), "--customize-hook=" + hook,
	}
	for _, proxy := range aptProxies(ctx) {
		args = append(args, "--aptopt="+proxy)
	}
	args = append(append(args, b.recipe.Suite, "-"), b.means.from...)
	b.Progress("fetching packages")
	if err := os.Mkdir(b.tree(), 0o755); err != nil {
		return err
	}
	return b.runBootstrap(exec.CommandContext(ctx, b.means.mmdebstrap, args...))
}

// runBootstrap unpacks what the command writes while it writes it.
func (b *builder) runBootstrap(cmd *exec.Cmd) error {
	// As a terminal does: its children end, and it cleans up after them. Should
	// this process be killed, it does so when nobody reads what it writes.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		// Whatever it mounts is gone with it, even if it is killed.
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	if b.means.mode != unshare {
		// The numbers that this user has of their own may not write there.
		cmd.Env = append(cmd.Env, "TMPDIR="+b.dir)
	}
	archive, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	said, sayer := io.Pipe()
	cmd.Stderr = sayer
	log := make(chan []string)
	go func() { log <- b.follow(said) }()
	if err := cmd.Start(); err != nil {
		sayer.Close()
		<-log
		return fmt.Errorf("mmdebstrap: %w", err)
	}
	unpackErr := unpack(b.tree(), archive)
	if unpackErr != nil {
		archive.Close()
	}
	err = cmd.Wait()
	sayer.Close()
	lines := <-log
	if err != nil {
		return fmt.Errorf("mmdebstrap: %s (%w)", complaint(lines), err)
	}
	return unpackErr
}

// follow turns mmdebstrap's lines into progress and returns the last ones.
func (b *builder) follow(r io.Reader) []string {
	var lines []string
	for s := bufio.NewScanner(r); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" {
			continue
		}
		if lines = append(lines, line); len(lines) > 200 {
			lines = lines[1:]
		}
		switch {
		case strings.Contains(line, "installing essential packages"):
			b.Progress("installing the base system")
		case strings.Contains(line, "installing remaining packages"):
			b.Progress("installing interpreters and servers")
		case strings.Contains(line, "running --customize-hook"):
			b.Progress("fetching the kernel")
		case strings.Contains(line, "creating tarball"):
			b.Progress("unpacking")
		}
	}
	_, _ = io.Copy(io.Discard, r) // a line that is too long must not block the writer
	return lines
}

// complaint is the line that says best what went wrong: apt's and mmdebstrap's
// errors begin with E:.
func complaint(lines []string) string {
	for _, line := range lines {
		if strings.HasPrefix(line, "E: ") {
			return strings.TrimPrefix(line, "E: ")
		}
	}
	if len(lines) == 0 {
		return "it said nothing"
	}
	return lines[len(lines)-1]
}

// unshare is mmdebstrap's mode that makes this user root of a user namespace
// with numbers of its own.
const unshare = "unshare"

// bootstrapMode chooses mmdebstrap's mode.
func bootstrapMode() (string, error) {
	if os.Getuid() == 0 {
		return "root", nil
	}
	if _, err := exec.LookPath("newuidmap"); err == nil && hasSubordinates("/etc/subuid") && hasSubordinates("/etc/subgid") {
		return unshare, nil
	}
	if _, err := exec.LookPath("fakechroot"); err == nil {
		return "fakechroot", nil
	}
	return "", errors.New("an ordinary user needs newuidmap with an entry for the user in /etc/subuid and /etc/subgid, or fakechroot; install one (apt-get install uidmap or apt-get install fakechroot), or build it once as root")
}

// hasSubordinates tells whether a file of subuid(5) has an entry for this user.
func hasSubordinates(file string) bool {
	u, err := user.Current()
	if err != nil {
		return false
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Split(string(b), "\n"), func(line string) bool {
		name, _, ok := strings.Cut(line, ":")
		return ok && (name == u.Username || name == u.Uid)
	})
}

// aptProxies are the proxies of the machine's own apt, which mmdebstrap does not
// take over.
func aptProxies(ctx context.Context) []string {
	out, err := exec.CommandContext(ctx, "apt-config", "dump").Output()
	if err != nil {
		return nil
	}
	var proxies []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Acquire::http") && strings.Contains(line, "Proxy") {
			proxies = append(proxies, line)
		}
	}
	return proxies
}

// versions reads the versions of the packages from the tree's dpkg status.
func (b *builder) versions(packages []string) (map[string]string, error) {
	status, err := os.ReadFile(filepath.Join(b.tree(), "var/lib/dpkg/status"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for stanza := range bytes.SplitSeq(status, []byte("\n\n")) {
		fields := stanzaFields(string(stanza))
		if name := fields["package"]; slices.Contains(packages, name) || name == "python3.11" {
			found[name] = fields["version"]
		}
	}
	return found, nil
}
