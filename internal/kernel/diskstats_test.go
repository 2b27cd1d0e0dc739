package kernel

import (
	"os"
	"slices"
	"testing"

	"github.com/prometheus/procfs/blockdevice"
)

func TestDiskstatsAcrossKernels(t *testing.T) {
	old := must[Diskstats](t)(open(t, "testdata/linux-3.10").Diskstats())
	wantEqual(t, "3.10, 11 numbers", *old.Find("sda2"), Disk{
		Major: 8, Minor: 2, Name: "sda2",
		Reads: num(400), ReadsMerged: num(3), ReadSectors: num(9000), ReadMillis: num(150),
		Writes: num(70), WritesMerged: num(600), WriteSectors: num(5360), WriteMillis: num(9100),
		InFlight: num(2), BusyMillis: num(7000), QueueMillis: num(9250),
	})
	mid := must[Diskstats](t)(open(t, "testdata/linux-5.10").Diskstats())
	wantEqual(t, "5.10, 17 numbers", *mid.Find("vda"), Disk{
		Major: 254, Minor: 0, Name: "vda",
		Reads: num(1), ReadsMerged: num(2), ReadSectors: num(3), ReadMillis: num(4),
		Writes: num(5), WritesMerged: num(6), WriteSectors: num(7), WriteMillis: num(8),
		InFlight: num(9), BusyMillis: num(10), QueueMillis: num(11),
		Discards: num(12), DiscardsMerged: num(13), DiscardSectors: num(14), DiscardMillis: num(15),
		Flushes: num(16), FlushMillis: num(17),
	})
	if d := old.Find("vda"); d != nil {
		t.Errorf("found %+v", d)
	}
}

func TestDiskstatsVariants(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Disk
		line       int // of the error
	}{
		{"partition before 2.6.25", "   8    1 sda1 11 22 33 44\n",
			Disk{Major: 8, Minor: 1, Name: "sda1", Reads: num(11), ReadSectors: num(22), Writes: num(33), WriteSectors: num(44)}, 0},
		{"4.18, discards", "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", Disk{
			Major: 259, Name: "nvme0n1", Reads: num(1), ReadsMerged: num(2), ReadSectors: num(3), ReadMillis: num(4),
			Writes: num(5), WritesMerged: num(6), WriteSectors: num(7), WriteMillis: num(8), InFlight: num(9),
			BusyMillis: num(10), QueueMillis: num(11), Discards: num(12), DiscardsMerged: num(13), DiscardSectors: num(14), DiscardMillis: num(15)}, 0},
		{"requests in flight below 0", "\n8 0 sda 1 2 3 4 5 6 7 8 -1 10 11\n", Disk{
			Major: 8, Name: "sda", Reads: num(1), ReadsMerged: num(2), ReadSectors: num(3), ReadMillis: num(4), Writes: num(5),
			WritesMerged: num(6), WriteSectors: num(7), WriteMillis: num(8), BusyMillis: num(10), QueueMillis: num(11)}, 2},
		{"cut off", "8 0 sda 1 2 3 4 5 6 7 8 9 1", Disk{Major: 8, Name: "sda"}, 1},
	} {
		f, _ := tree(t, map[string]string{"proc/diskstats": c.text})
		d, err := f.Diskstats()
		if c.line > 0 {
			wantFieldError(t, err, "proc/diskstats", c.line, c.want.Name)
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(d.Disks) != 1 || d.Disks[0] != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, d.Disks, c.want)
		}
	}
	f, _ := tree(t, map[string]string{"proc/diskstats": "8 x sda 1\n"})
	d, err := f.Diskstats()
	wantFieldError(t, err, "proc/diskstats", 1, "device")
	wantEqual(t, "disks", len(d.Disks), 0)
}

// Against prometheus/procfs, read before and after ours.
func TestDiskstatsLive(t *testing.T) {
	other := must[blockdevice.FS](t)(blockdevice.NewFS("/proc", "/sys"))
	before := must[[]blockdevice.Diskstats](t)(other.ProcDiskstats())
	ours := must[Diskstats](t)(live(t).Diskstats())
	after := must[[]blockdevice.Diskstats](t)(other.ProcDiskstats())
	wantEqual(t, "devices", len(ours.Disks), len(before))
	for i, b := range before {
		a, d := after[i], ours.Find(b.DeviceName)
		if d == nil {
			t.Errorf("%s is not there", b.DeviceName)
			continue
		}
		for what, c := range map[string]struct {
			got      Num
			from, to uint64
		}{
			"reads":         {d.Reads, b.ReadIOs, a.ReadIOs},
			"writes":        {d.Writes, b.WriteIOs, a.WriteIOs},
			"write sectors": {d.WriteSectors, b.WriteSectors, a.WriteSectors},
			"busy":          {d.BusyMillis, b.IOsTotalTicks, a.IOsTotalTicks},
			"weighted":      {d.QueueMillis, b.WeightedIOTicks, a.WeightedIOTicks},
		} {
			if !c.got.Known || c.got.Value < c.from || c.got.Value > c.to {
				t.Errorf("%s %s = %v, want between %d and %d", b.DeviceName, what, c.got, c.from, c.to)
			}
		}
	}
}

func TestSwaps(t *testing.T) {
	s := must[Swaps](t)(open(t, "testdata/linux-3.10").Swaps())
	want := []SwapArea{
		{"/dev/sda2", "partition", kb(2097148), kb(85792)},
		{"/var/my swap", "file", kb(512), kb(0)},
	}
	if !slices.Equal(s.Areas, want) {
		t.Errorf("areas %+v, want %+v", s.Areas, want)
	}
	wantEqual(t, "disk of a partition", s.Areas[0].Disk(), "sda2")
	wantEqual(t, "disk of a file", s.Areas[1].Disk(), "")

	none := must[Swaps](t)(open(t, "testdata/linux-6.6").Swaps())
	wantEqual(t, "without swap", len(none.Areas), 0)
	f, _ := tree(t, map[string]string{"proc/swaps": "Filename Type\n/dev/vdb partition x 4 -2\n"})
	bad, err := f.Swaps()
	wantFieldError(t, err, "proc/swaps", 2, "size")
	wantEqual(t, "size", bad.Areas[0].Size, Num{})
	wantEqual(t, "used", bad.Areas[0].Used, kb(4))
}

// Against swapon(8).
func TestSwapsLive(t *testing.T) {
	if _, err := os.Stat("/proc/swaps"); err != nil {
		if _, err := live(t).Swaps(); err == nil {
			t.Error("swap areas without /proc/swaps")
		}
		return
	}
	out := output(t, "swapon", "--show=NAME,SIZE", "--bytes", "--noheadings")
	s := must[Swaps](t)(live(t).Swaps())
	lines := 0
	for _, c := range out {
		if c == '\n' {
			lines++
		}
	}
	wantEqual(t, "areas", len(s.Areas), lines)
}
