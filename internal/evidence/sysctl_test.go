package evidence

import "testing"

const sysctlText = `abi.vsyscall32 = 1
kernel.osrelease = 6.1.0-21-amd64
net.core.somaxconn = 4096
net.ipv4.tcp_rmem = 4096	131072	6291456
sysctl: permission denied on key 'vm.stat_refresh'
vm.overcommit_memory = 2
vm.swappiness = 10
`

// sysctl(8) prints a line for each setting; the values are those of /proc/sys.
func TestSysctlShowsTheKernelsSettings(t *testing.T) {
	c := readFiles(t, map[string]string{"sysctl.txt": sysctlText})
	m := c.Last().Machine
	wantValue(t, "overcommit", m.Overcommit, 2, NoUnit, "sysctl.txt (vm.overcommit_memory):1 vm.overcommit_memory")
}

func TestAFileOfSettingsNeedNotHold(t *testing.T) {
	c := readFiles(t, map[string]string{"99-local.conf": "# for the cache\n" + "vm.overcommit_memory = 2\n"})
	if r := c.Last(); r != nil && r.Machine.Overcommit.Known {
		t.Errorf("what a file for sysctl asks for is taken for what is so: %v", r.Machine.Overcommit)
	}
}

// Some print no blanks, and grep prints the path of the file.
func TestSettingsInOtherForms(t *testing.T) {
	for name, text := range map[string]string{
		"tight.txt": "kernel.panic=0\r\nvm.overcommit_memory=2\r\nvm.swappiness=10\r\n",
		"grep.txt":  "/proc/sys/vm/overcommit_memory:2\n/proc/sys/vm/swappiness:10\n",
	} {
		c := readFile(t, name, text)
		wantValue(t, name+" overcommit", c.Last().Machine.Overcommit, 2, NoUnit, "")
		wantValue(t, name+" swappiness", c.Last().Machine.Swappiness, 10, NoUnit, "")
	}
}

// Documentation/admin-guide/sysctl/vm.rst: overcommit_memory is 0, 1 or 2, and
// swappiness 0 to 200.
func TestSettingsThatCannotBe(t *testing.T) {
	c := readFiles(t, map[string]string{"sysctl.txt": "vm.overcommit_memory = 7\nvm.swappiness = -5\nnet.core.somaxconn = 4096\n"})
	wantValue(t, "somaxconn", c.Last().Machine.SomaxConn, 4096, NoUnit, "")
	wantMissing(t, "overcommit", c.Last().Machine.Overcommit, NotSeen)
	want := `line 1: vm.overcommit_memory is "7", and it is a number from 0 to 2: it and 1 more with what cannot be were not read`
	if len(c.Strangers) != 1 || c.Strangers[0].Why != want {
		t.Errorf("got %+v, want %s", c.Strangers, want)
	}
}

func FuzzSysctl(f *testing.F) {
	fuzzFile(f, "sysctl.txt", sysctlText, "vm.overcommit_memory=2\nvm.swappiness=abc\n")
}
