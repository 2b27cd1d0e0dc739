package evidence

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// fromUTF16 decodes what PowerShell's redirection writes, with a mark of the order
// of bytes or without one.
func fromUTF16(data []byte) ([]byte, bool) {
	if len(data) < 2 {
		return nil, false
	}
	order, ok := markOfUTF16(data)
	switch {
	case ok:
		data = data[2:]
	default:
		if order, ok = looksLikeUTF16(data); !ok {
			return nil, false
		}
	}
	out := make([]byte, 0, len(data)/2)
	for i := 0; i+1 < len(data); i += 2 {
		r := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(r) && i+3 < len(data) {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(data[i+2:]))); pair != utf8.RuneError {
				r = pair
				i += 2
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out, true
}

func markOfUTF16(data []byte) (binary.ByteOrder, bool) {
	switch {
	case data[0] == 0xff && data[1] == 0xfe:
		return binary.LittleEndian, true
	case data[0] == 0xfe && data[1] == 0xff:
		return binary.BigEndian, true
	}
	return nil, false
}

// looksLikeUTF16 finds the order by which of each two bytes is zero: in a text of a
// tool nearly all are ASCII. Text in UTF-8 has none.
func looksLikeUTF16(data []byte) (binary.ByteOrder, bool) {
	head := data[:min(len(data), 512)&^1]
	var zero [2]int
	for i, c := range head {
		if c == 0 {
			zero[i%2]++
		}
	}
	const share = 0.8
	most := share * float64(len(head)/2)
	switch {
	case len(head) < 16:
	case zero[0] == 0 && float64(zero[1]) >= most:
		return binary.LittleEndian, true
	case zero[1] == 0 && float64(zero[0]) >= most:
		return binary.BigEndian, true
	}
	return nil, false
}
