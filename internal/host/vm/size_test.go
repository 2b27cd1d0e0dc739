package vm

import "testing"

// The expected sizes were measured: MemTotal as Linux 6.1 reports it in guests
// of ten sizes.
func TestAMachineHasTheRAMForItsMemTotal(t *testing.T) {
	for _, c := range []struct{ ram, memTotal int }{
		{256, 217}, {512, 468}, {1024, 972}, {1925, 1855}, {2048, 1978},
		{2560, 2479}, {3072, 2983}, {3813, 3712}, {5000, 4873}, {7590, 7423},
	} {
		if got := machineMB(c.memTotal); got < c.ram-1 || got > c.ram+1 {
			t.Errorf("MemTotal %d: %d MB of RAM, want %d within 1", c.memTotal, got, c.ram)
		}
	}
}
