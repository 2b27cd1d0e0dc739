// Package textfile reads the small files that people write: experiments,
// references, tables of values. What is no such file is refused before it can
// block (a pipe) or fill the memory (a device).
package textfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Read returns the contents of a regular file of at most limit bytes. Its
// errors are meant to follow the path.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, errors.New("is a directory")
	case !mode.IsRegular():
		return nil, errors.New("is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The size that Stat gives can be 0 where there is more to read (/proc).
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("has more than %d bytes, the most that is read", limit)
	}
	return data, nil
}
