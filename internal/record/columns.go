package record

import (
	"strings"

	"brink/internal/wire"
)

// sampleNames lists the columns of a sample but its scope and time, which is
// the first number of a Sample. They are named like the numbers.
func sampleNames() []string {
	names := wire.SampleNames()
	return names[1:]
}

// sampleNumbers lists what goes into the columns of sampleNames.
func sampleNumbers(s *Sample) []*int64 {
	numbers := s.Numbers()
	return numbers[1:]
}

// insert is an INSERT of one row into a table.
func insert(table string, columns ...string) string {
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(columns)-1) + ")"
}

// unlessZero stores 0 as NULL.
func unlessZero[T int | int32 | int64](x T) any {
	if x == 0 {
		return nil
	}
	return int64(x)
}

// unlessNegative stores a negative number as NULL.
func unlessNegative(x int64) any {
	if x < 0 {
		return nil
	}
	return x
}
