package vm

import (
	"encoding/binary"
	"testing"
)

// The header is that of mkswap(8): version 1 at byte 1024 and the last page at
// 1028, for 4 KiB pages. 4,096 and 8,192 MB are the swap of a B2 and a B3: 2^32
// bytes and more.
func TestTheHeaderOfASwapArea(t *testing.T) {
	for mb, last := range map[int]uint32{1: 256, 2048: 524288, 4096: 1048576, 8192: 2097152} {
		f, err := swapFile(t.TempDir(), mb)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		header := make([]byte, 4096)
		if _, err := f.ReadAt(header, 0); err != nil {
			t.Fatal(err)
		}
		if version, got := binary.LittleEndian.Uint32(header[1024:]), binary.LittleEndian.Uint32(header[1028:]); version != 1 || got != last || string(header[4086:]) != "SWAPSPACE2" {
			t.Errorf("%d MB: version %d, last page %d, %q; want 1, %d", mb, version, got, header[4086:], last)
		}
		if info, err := f.Stat(); err != nil || info.Size() != int64(last+1)*4096 {
			t.Errorf("%d MB: %v, %v", mb, info.Size(), err)
		}
	}
}
