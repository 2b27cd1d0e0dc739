package guest

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnOrdinaryProcessIsNoInit(t *testing.T) {
	name := os.Args[0]
	defer func() { os.Args[0] = name }()
	os.Args[0] = Init
	RunIfInit(func(context.Context, io.ReadWriteCloser) error {
		t.Error("it served")
		return nil
	})
}

func TestParameters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cmdline")
	if err := os.WriteFile(path, []byte("quiet root=PARTUUID=6272-01  brink.address=10.0.2.15/24\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := parameters(path)
	want := map[string]string{"quiet": "", "root": "PARTUUID=6272-01", AddressParam: "10.0.2.15/24"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestAModuleThatIsMissingIsNamed(t *testing.T) {
	list := filepath.Join(t.TempDir(), "modules")
	if err := os.WriteFile(list, []byte("/no/such.ko\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := loadModules(list); err == nil || !strings.Contains(err.Error(), "/no/such.ko") {
		t.Errorf("error %v", err)
	}
}
