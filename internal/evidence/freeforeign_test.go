package evidence

import "testing"

// As procps-ng 4 prints them on one machine in eight languages (LANGUAGE=de free -h
// and so on): 23Gi in all, 10Gi free, 19Gi available, no swap.
var foreignFree = map[string]string{
	"de":    "              gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\nSpeicher:       23Gi       3.7Gi        10Gi        10Mi       9.8Gi        19Gi\nSwap:             0B          0B          0B\n",
	"es":    "               total       usado       libre  compartido   búf/caché   disponible\nMem:            23Gi       3.7Gi        10Gi        10Mi       9.8Gi        19Gi\nInter:            0B          0B          0B\n",
	"fr":    "               total       utilisé      libre     partagé tamp/cache   disponible\nMem:            23Gi       3.7Gi        10Gi        10Mi       9.8Gi        19Gi\nÉchange:          0B          0B          0B\n",
	"pl":    "               razem       użyte       wolne    dzielone   buf/cache    dostępne\nPamięć:         23Gi       3.7Gi        10Gi        10Mi       9.8Gi        19Gi\nWymiana:          0B          0B          0B\n",
	"pt_BR": "               total       usada       livre    compart.  buff/cache  disponível\nMem.:           23Gi       3.7Gi        10Gi        10Mi       9.8Gi        19Gi\nSwap:             0B          0B          0B\n",
	"uk":    "               загалом      використ.   вільна    спільна буфери/кеш   дост.\nПам.:           23Gi       3.7Gi        10Gi        10Mi       9.8Gi        19Gi\nСвоп.:            0B          0B          0B\n",
	"ko":    "               총계         사용        여분      공유    버퍼/캐시    가용\n메모리:         23Gi       3.7Gi        10Gi        10Mi       9.8Gi        19Gi\n스  왑:           0B          0B          0B\n",
}

func TestFreeInOtherLanguages(t *testing.T) {
	for name, text := range foreignFree {
		c := readFile(t, "speicher.txt", text)
		wantWhole(t, c)
		m := &c.Last().Meminfo
		wantValue(t, name+": total", m.MemTotal, 23<<30, Bytes, "speicher.txt:2 Mem: total")
		wantValue(t, name+": free", m.MemFree, 10<<30, Bytes, "speicher.txt:2 Mem: free")
		wantValue(t, name+": shared", m.Shmem, 10<<20, Bytes, "speicher.txt:2 Mem: shared")
		wantValue(t, name+": available", m.MemAvailable, 19<<30, Bytes, "speicher.txt:2 Mem: available")
		wantValue(t, name+": swap", m.SwapTotal, 0, Bytes, "speicher.txt:3 Swap: total")
	}
}

// Options add columns and rows: free(1) of --wide, --lohi and --total; procps before
// 3.3.10 has other columns, and a comma is the decimal point of most languages.
func TestFreeInGermanWithOptions(t *testing.T) {
	for name, c := range map[string]struct {
		text                           string
		total, free, available, swapFd float64
	}{
		"KiB": {"              gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\nSpeicher:    2030296     1500000      100000        5000      430296      300000\nSwap:        1048572      900000      148572\n",
			2030296 << 10, 100000 << 10, 300000 << 10, 148572 << 10},
		"comma": {"              gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\nSpeicher:      1,5Gi       512Mi       256Mi         0B       700Mi       1,0Gi\nSwap:          2,0Gi       1,0Gi       1,0Gi\n",
			1.5 * (1 << 30), 256 << 20, 1 << 30, 1 << 30},
		"wide": {"              gesamt       benutzt     frei      gemns.    Puffer       Cache   verfügbar\nSpeicher:    2030296     1500000      100000        5000       30296      400000      300000\nSwap:        1048572      900000      148572\n",
			2030296 << 10, 100000 << 10, 300000 << 10, 148572 << 10},
		"lohi": {"              gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\nSpeicher:    2030296     1500000      100000        5000      430296      300000\nNiedrig:     2030296     1500000      530296\nHoch:              0           0           0\nSwap:        1048572      900000      148572\nGesamt:      3078868     2400000      248572\n",
			2030296 << 10, 100000 << 10, 300000 << 10, 148572 << 10},
		"old": {"             gesamt   benutzt      frei      gemns.     Puffer      Cache\nSpeicher:    2030296    1930296     100000          0      30000     200000\n-/+ Puffer/Cache:       1700296     330000\nSwap:       1048572     900000     148572\n",
			2030296 << 10, 100000 << 10, -1, 148572 << 10},
	} {
		m := &readFile(t, "x", c.text).Last().Meminfo
		wantValue(t, name+": total", m.MemTotal, c.total, Bytes, "")
		wantValue(t, name+": free", m.MemFree, c.free, Bytes, "")
		wantValue(t, name+": free swap", m.SwapFree, c.swapFd, Bytes, "")
		if c.available >= 0 {
			wantValue(t, name+": available", m.MemAvailable, c.available, Bytes, "")
		} else {
			wantMissing(t, name+": available", m.MemAvailable, NotSeen)
			wantValue(t, name+": cached", m.Cached, 200000<<10, Bytes, "")
		}
	}
}

// What only looks alike is no output of free.
func TestWhatIsNoFree(t *testing.T) {
	for _, text := range []string{
		"eins zwei drei\nx: 1 2 3 4 5 6\ny: 1 2 3\n",                                      // available is more than all
		"gesamt benutzt frei\nSpeicher: 1 2 drei\n",                                       // a word
		"host port state\nweb: 80\n",                                                      // one amount
		"gesamt benutzt frei gemns. Puffer verf.\nSpeicher 2030296 1 100000 5 430296 3\n", // no colon
	} {
		c := readFiles(t, map[string]string{"x": text})
		if r := c.Last(); r != nil && r.Meminfo.MemTotal.Known {
			t.Errorf("%q was taken for free: %+v", text, r.Meminfo.MemTotal)
		}
	}
}

func FuzzForeignFree(f *testing.F) { fuzzFile(f, "x", foreignFree["de"], foreignFree["ko"]) }

// What cannot be is refused, and not called plenty.
func TestMoreMemoryThanThereIsIsRefused(t *testing.T) {
	for _, heading := range []string{"total used free shared buff/cache available", "gesamt benutzt frei gemns. Puffer/Cache verfügbar"} {
		row := "Mem: "
		if heading[0] == 'g' {
			row = "Speicher: "
		}
		c := readFiles(t, map[string]string{"free.txt": heading + "\n" + row + "1000 900 50 5 68 48410\nSwap: 0 0 0\n"})
		if len(c.Strangers) != 1 || c.Strangers[0].Why != "more memory is free or available than there is: 48410 of 1000 MiB" || c.Last() != nil {
			t.Errorf("%s: %+v, %+v", heading, c.Strangers, c.Last())
		}
	}
}

// Languages have the decimal comma under English headings too (LC_NUMERIC), a wide
// colon, and rows of -t and -v behind that of swap.
func TestFreeWithOtherRows(t *testing.T) {
	const swap = 2 << 30
	for name, text := range map[string]string{
		"comma":     "               total        used        free      shared  buff/cache   available\nMem:           8,0Gi       2,7Gi       3,0Gi       5,0Mi       2,0Gi       4,5Gi\nSwap:          2,0Gi          0B       2,0Gi\nTotal:        10,0Gi       2,7Gi       5,0Gi\n",
		"Chinese":   "               总计         已用        空闲      共享    缓冲/缓存    可用\n内存：        8192       2765       3072          5        2048       4608\n交换：        2048          0       2048\n总量：       10240       2765       5120\n",
		"committed": "               gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\nSpeicher:       8192       2765       3072          5        2048       4608\nSwap:        2048          0       2048\nGesamt:     10240       2765       5120\nFestg.:      6144       1000       5144\n",
		"lohi":      "               gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\nSpeicher:       8192       2765       3072          5        2048       4608\nNiedrig:       8192       5120       3072\nHoch:             0          0          0\nSwap:        2048          0       2048\nGesamt:     10240       2765       5120\nFestg.:      6144       1000       5144\n",
	} {
		c := readFile(t, "x", text)
		m := &c.Last().Meminfo
		wantValue(t, name+": total", m.MemTotal, 8<<30, Bytes, "")
		wantValue(t, name+": free", m.MemFree, 3<<30, Bytes, "")
		wantValue(t, name+": available", m.MemAvailable, 4.5*(1<<30), Bytes, "")
		wantValue(t, name+": swap", m.SwapTotal, swap, Bytes, "")
		wantValue(t, name+": free swap", m.SwapFree, swap, Bytes, "")
	}
}

func TestMoreSwapThanThereIsIsRefused(t *testing.T) {
	c := readFiles(t, map[string]string{"free.txt": "total used free shared buff/cache available\nMem: 1000 900 50 5 68 41\nSwap: 100 0 200\n"})
	if len(c.Strangers) != 1 || c.Strangers[0].Why != "more swap is free than there is: 200 of 100 MiB" || c.Last() != nil {
		t.Errorf("%+v, %+v", c.Strangers, c.Last())
	}
}
