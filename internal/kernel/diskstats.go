package kernel

import "bytes"

// SectorBytes is the unit of the sectors in /proc/diskstats, whatever the
// device's own sectors are.
const SectorBytes = 512

// Diskstats is /proc/diskstats: totals since boot, one entry for each disk and
// partition. It keeps its memory from one reading to the next.
//
// https://www.kernel.org/doc/html/latest/admin-guide/iostats.html
type Diskstats struct {
	Disks []Disk
}

// Disk is what one disk or partition did. The counters are those of the
// kernel: in ms they are 32 bits wide on many kernels, and wrap round.
type Disk struct {
	Major, Minor int
	Name         string

	Reads, ReadsMerged, ReadSectors, ReadMillis     Num
	Writes, WritesMerged, WriteSectors, WriteMillis Num
	InFlight                                        Num // now
	// BusyMillis is the time in which at least one request was under way,
	// QueueMillis that time weighted by how many were.
	BusyMillis, QueueMillis                                 Num
	Discards, DiscardsMerged, DiscardSectors, DiscardMillis Num // since 4.18
	Flushes, FlushMillis                                    Num // since 5.5, of disks only
}

// Diskstats reads /proc/diskstats once.
func (f *FS) Diskstats() (Diskstats, error) { return once(f.DiskstatsReader()) }

// DiskstatsReader opens /proc/diskstats for repeated reading.
func (f *FS) DiskstatsReader() (*Reader[Diskstats], error) {
	return newReader(f.at, "", part[Diskstats]{name: "proc/diskstats", parse: parseDiskstats})
}

// reset keeps the disks' names, so that reading the same disks again allocates
// nothing.
func (d *Diskstats) reset() { d.Disks = d.Disks[:0] }

// parseDiskstats reads lines of "MAJOR MINOR NAME NUMBERS". There are 11
// numbers until 4.17, 15 with discards, 17 with flushes. Partitions before
// 2.6.25 have 4: reads, sectors read, writes, sectors written.
func parseDiskstats(d *Diskstats, b []byte) error {
	var bad faults
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		disk := d.next()
		if !disk.parse(&bad, n, line) {
			d.Disks = d.Disks[:len(d.Disks)-1]
		}
	}
	return bad.err()
}

// next returns an entry in which nothing but an earlier name is left.
func (d *Diskstats) next() *Disk {
	if len(d.Disks) < cap(d.Disks) {
		d.Disks = d.Disks[:len(d.Disks)+1]
	} else {
		d.Disks = append(d.Disks, Disk{})
	}
	disk := &d.Disks[len(d.Disks)-1]
	*disk = Disk{Name: disk.Name}
	return disk
}

// parse is false for a line without a device.
func (d *Disk) parse(bad *faults, n int, line []byte) bool {
	major, rest := cutField(line)
	minor, rest := cutField(rest)
	name, rest := cutField(rest)
	if !parseSmall(&d.Major, major) || !parseSmall(&d.Minor, minor) || len(name) == 0 {
		bad.add(n, "device", line, "two numbers and a name")
		return false
	}
	if d.Name != string(name) {
		d.Name = string(name)
	}
	columns := [...]*Num{
		&d.Reads, &d.ReadsMerged, &d.ReadSectors, &d.ReadMillis,
		&d.Writes, &d.WritesMerged, &d.WriteSectors, &d.WriteMillis,
		&d.InFlight, &d.BusyMillis, &d.QueueMillis,
		&d.Discards, &d.DiscardsMerged, &d.DiscardSectors, &d.DiscardMillis,
		&d.Flushes, &d.FlushMillis,
	}
	seen := 0
	for _, dst := range columns {
		var field []byte
		if field, rest = cutField(rest); len(field) == 0 {
			break
		}
		seen++
		if dst.Value, dst.Known = parseNum(field); !dst.Known {
			dst.Value = 0
			bad.add(n, d.Name, field, wantNumber)
		}
	}
	return d.complete(bad, n, seen, line)
}

// complete gives the numbers of a short line their meaning. A line that no
// kernel writes was cut off in the middle of a number that nobody knows.
func (d *Disk) complete(bad *faults, n, seen int, line []byte) bool {
	switch seen {
	case 4:
		d.ReadSectors, d.Writes, d.WriteSectors = d.ReadsMerged, d.ReadSectors, d.ReadMillis
		d.ReadsMerged, d.ReadMillis = Num{}, Num{}
	case 11, 15, 17:
	default:
		*d = Disk{Major: d.Major, Minor: d.Minor, Name: d.Name}
		bad.add(n, d.Name, line, "11, 15 or 17 numbers, or 4 of an old partition")
	}
	return true
}

// Find returns the disk or partition with a name, nil if there is none.
func (d *Diskstats) Find(name string) *Disk {
	for i := range d.Disks {
		if d.Disks[i].Name == name {
			return &d.Disks[i]
		}
	}
	return nil
}
