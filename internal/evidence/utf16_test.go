package evidence

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

// encodeUTF16 writes a text as the standard has it (RFC 2781).
func encodeUTF16(order binary.AppendByteOrder, mark bool, text string) []byte {
	var data []byte
	if mark {
		data = order.AppendUint16(data, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		data = order.AppendUint16(data, u)
	}
	return data
}

func TestTextInUTF16(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		for _, mark := range []bool{true, false} {
			c, err := FromFiles(map[string][]byte{"stats.txt": encodeUTF16(order, mark, statsText)})
			if err != nil || len(c.Readings) != 1 || len(c.Last().Cgroups) != 3 {
				t.Errorf("%s, mark %t: %v, %+v", name, mark, err, c)
			}
		}
		got, ok := fromUTF16(encodeUTF16(order, true, "verfügbar 🐳"))
		if !ok || string(got) != "verfügbar 🐳" {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
	for _, data := range []string{"", "a", "plain text of a tool", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
		if got, ok := fromUTF16([]byte(data)); ok {
			t.Errorf("%q became %q", data, got)
		}
	}
}
