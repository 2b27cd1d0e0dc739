package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// CanContain says why no container can be started here, or nothing.
func CanContain() error {
	if _, err := exec.LookPath("crun"); err != nil {
		return errors.New("crun is not installed")
	}
	if unix.Geteuid() != 0 {
		return errors.New("mounting a container's root takes root")
	}
	if version := CgroupVersion(); version != "v2" {
		return fmt.Errorf("crun wants cgroup v2, and this machine has %s", version)
	}
	if !supportsOverlay() {
		return errors.New("the kernel has no overlay file system")
	}
	if target, err := os.Readlink("/bin"); err != nil || strings.Trim(target, "/") != "usr/bin" {
		return errors.New("/bin is not a link to usr/bin, so that /usr is not the whole system")
	}
	return nil
}

// supportsOverlay tells whether overlay is there or is a module that the kernel
// loads when it is mounted.
func supportsOverlay() bool {
	b, err := os.ReadFile("/proc/filesystems")
	if err == nil && slices.Contains(strings.Fields(string(b)), "overlay") {
		return true
	}
	release := unix.Utsname{}
	if unix.Uname(&release) != nil {
		return false
	}
	b, err = os.ReadFile(filepath.Join("/lib/modules", unix.ByteSliceToString(release.Release[:]), "modules.dep"))
	return err == nil && strings.Contains(string(b), "/overlay.ko")
}

// layered are the directories that a container sees through an overlay of its
// own: it may write to them, and its changes are its own.
var layered = []string{"usr", "etc"}

// Command is how a program is started: its command line, its environment and
// its working directory.
type Command struct {
	Argv, Env []string
	Dir       string
}

// Contain makes the bundle of a container that runs c, in runDir and under a
// number that tells it from others there, and returns how crun is started with
// it. The container shares the machine's network and process ids, so that
// addresses and pids mean the same inside; the rest is its own. Its cgroup is the
// one in which crun is started. All mounts are made in the container's own mount
// namespace and vanish with it.
//
// https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md
func Contain(c Command, runDir, number string) (Command, error) {
	crun, err := exec.LookPath("crun")
	if err != nil {
		return Command{}, err
	}
	bundle := filepath.Join(runDir, "container"+number)
	root := filepath.Join(bundle, "root")
	if err := makeRoot(root); err != nil {
		return Command{}, fmt.Errorf("the container's root: %w", err)
	}
	spec, err := containerSpec(c, runDir, bundle, root)
	if err != nil {
		return Command{}, err
	}
	b, err := json.Marshal(spec)
	if err != nil {
		return Command{}, err
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o600); err != nil {
		return Command{}, err
	}
	return Command{
		Argv: []string{crun, "--root", filepath.Join(runDir, "crun"), "--cgroup-manager", "disabled", "run", "--bundle", bundle, containerName(runDir, number)},
		Env:  c.Env,
		Dir:  bundle,
	}, nil
}

func containerName(runDir, number string) string {
	return filepath.Base(runDir) + "-app" + number
}

// makeRoot makes the directory on which the container's mounts are put.
func makeRoot(root string) error {
	for _, dir := range []string{"usr", "etc", "proc", "sys", "dev", "run", "var", "var/tmp", "home", "root", "opt"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o777); err != nil {
		return err
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if target, err := os.Readlink("/" + name); err == nil {
			if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func containerSpec(c Command, runDir, bundle, root string) (*specs.Spec, error) {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/sys", Type: "bind", Source: "/sys", Options: []string{"rbind", "ro"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
	}
	for _, name := range layered {
		upper, work := filepath.Join(bundle, name+"-upper"), filepath.Join(bundle, name+"-work")
		for _, dir := range []string{upper, work} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, err
			}
		}
		mounts = append(mounts, specs.Mount{
			Destination: "/" + name, Type: "overlay", Source: "overlay",
			Options: []string{"lowerdir=/" + name, "upperdir=" + upper, "workdir=" + work},
		})
	}
	mounts = append(mounts, bind(c.Dir), bind(filepath.Join(runDir, "tmp")))
	if program := c.Argv[0]; !strings.HasPrefix(program, "/usr/") && !strings.HasPrefix(program, "/bin/") {
		mounts = append(mounts, bind(program, "ro"))
	}
	caps := []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETGID", "CAP_SETUID"}
	return &specs.Spec{
		Version: "1.0.2",
		Process: &specs.Process{
			Args: c.Argv, Env: c.Env, Cwd: c.Dir, NoNewPrivileges: true,
			Capabilities: &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
		},
		Root: &specs.Root{Path: root},
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{{Type: specs.MountNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}},
		},
		Hostname: filepath.Base(bundle),
		Mounts:   mounts,
	}, nil
}

// bind shows a path of the machine at the same place in the container.
func bind(path string, options ...string) specs.Mount {
	return specs.Mount{Destination: path, Type: "bind", Source: path, Options: append([]string{"bind"}, options...)}
}
