package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// group makes a directory like a cgroup's; the real thing needs a machine with
// cgroup v2 and is tested in brink's guest (agent/guest_test.go).
func group(t *testing.T, root, path string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(root, path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base := map[string]string{"cgroup.procs": "", "cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": "", "cgroup.events": "populated 1\n"}
	for name, text := range files {
		base[name] = text
	}
	for name, text := range base {
		if text == "absent" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func give(t *testing.T, root, path string, uid int) {
	t.Helper()
	if err := os.Chown(filepath.Join(root, path), uid, -1); err != nil {
		t.Fatal(err)
	}
}

// Who may divide which cgroup follows https://systemd.io/CGROUP_DELEGATION and
// "Delegation" and "No Internal Process Constraint" in cgroup-v2.html.
func TestOnlyADelegatedCgroupIsDivided(t *testing.T) {
	uid := os.Geteuid()
	other := uid
	if uid == 0 {
		other = 65534 // root plays a user; the directories are given to it
	}
	t.Run("a user's slice above a scope with processes", func(t *testing.T) {
		root := t.TempDir()
		group(t, root, "", map[string]string{"cgroup.events": "absent"})
		group(t, root, "user/slice", map[string]string{"cgroup.subtree_control": "memory pids"})
		group(t, root, "user/slice/scope", map[string]string{"cgroup.procs": "1\n2\n"})
		for _, path := range []string{"user/slice", "user/slice/scope"} {
			give(t, root, path, other)
		}
		if got, err := delegated(root, "/user/slice/scope", other); err != nil || got != "/user/slice" {
			t.Errorf("%q, %v, want /user/slice", got, err)
		}
		b, _ := os.ReadFile(filepath.Join(root, "user/slice/scope/cgroup.subtree_control"))
		if len(b) > 0 {
			t.Errorf("the scope was changed: %q", b)
		}
	})
	t.Run("an empty delegated cgroup gets the controller", func(t *testing.T) {
		root := t.TempDir()
		group(t, root, "", map[string]string{"cgroup.events": "absent"})
		group(t, root, "mine", map[string]string{"cgroup.procs": "7\n"})
		group(t, root, "mine/sub", nil)
		give(t, root, "mine/sub", other)
		if got, err := delegated(root, "/mine/sub", other); err != nil || got != "/mine/sub" {
			t.Errorf("%q, %v", got, err)
		}
		if b, _ := os.ReadFile(filepath.Join(root, "mine/sub/cgroup.subtree_control")); string(b) != "+memory" {
			t.Errorf("written %q, want +memory", b)
		}
	})
	t.Run("a machine without a manager", func(t *testing.T) {
		root := t.TempDir()
		group(t, root, "", map[string]string{"cgroup.events": "absent", "cgroup.procs": "1\n2\n"})
		if got, err := delegated(root, "/", uid); err != nil || got != "/" {
			t.Errorf("%q, %v, want the top", got, err)
		}
	})
	for name, tc := range map[string]struct {
		files map[string]string
		mine  bool
		want  string
	}{
		"a manager's":          {nil, false, "no cgroup above this process is delegated to this user"},
		"no memory controller": {map[string]string{"cgroup.controllers": "cpu pids"}, true, "has no memory controller"},
		"processes of its own": {map[string]string{"cgroup.procs": "7\n"}, true, "holds processes of its own, so that it cannot be divided"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			group(t, root, "", map[string]string{"cgroup.events": "absent"})
			group(t, root, "a/b", tc.files)
			if tc.mine {
				give(t, root, "a/b", other)
			}
			user := other
			if !tc.mine {
				user = 0 // root owns everything, but a manager keeps order
			}
			got, err := delegated(root, "/a/b", user)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q, %v, want %q", got, err, tc.want)
			}
		})
	}
	t.Run("marked by systemd", func(t *testing.T) {
		root := t.TempDir()
		group(t, root, "", map[string]string{"cgroup.events": "absent"})
		group(t, root, "service", nil)
		dir := filepath.Join(root, "service")
		if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := delegated(root, "/service", uid); err != nil || got != "/service" {
			t.Errorf("%q, %v", got, err)
		}
	})
}
