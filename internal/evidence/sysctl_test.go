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

func FuzzSysctl(f *testing.F) { fuzzFile(f, "sysctl.txt", sysctlText) }
