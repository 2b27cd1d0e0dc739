package compare

import (
	"fmt"
	"os"
	"testing"
)

// home is the directory of this package; tests leave it.
var home string

func TestMain(m *testing.M) {
	var err error
	if home, err = os.Getwd(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
