package image

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Forms that apt itself reads: sources.list(5).
func TestOnlyTheSuitesOwnSourcesAreTaken(t *testing.T) {
	etc := t.TempDir()
	if err := os.Mkdir(filepath.Join(etc, "sources.list.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"sources.list": `# deb http://off.example/debian bookworm main
deb http://one.example/debian bookworm main contrib
deb [arch=amd64 signed-by=/k.gpg] http://two.example/debian bookworm-updates main # near
deb-src http://one.example/debian bookworm main
deb http://one.example/debian trixie main
deb http://one.example/debian bookworm non-free
deb cdrom:[disc]/ bookworm main
`,
		"sources.list.d/debian.sources": `Types: deb deb-src
# a remark
URIs: http://three.example/debian
 http://four.example/debian
Suites: bookworm bookworm-backports bookworm-security
Components: main
Signed-By: /usr/share/keyrings/k.gpg

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: http://five.example/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----
`,
		"sources.list.d/vendor.sources": "Types: deb\nURIs: https://vendor.example/node\nSuites: nodistro\nComponents: main\n",
		"sources.list.d/old.disabled":   "deb http://off.example/debian bookworm main\n",
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := sources(etc, "bookworm")
	want := []string{
		"deb [arch=amd64 signed-by=/k.gpg] http://two.example/debian bookworm-updates main",
		"deb [signed-by=/usr/share/keyrings/k.gpg] http://four.example/debian bookworm main",
		"deb [signed-by=/usr/share/keyrings/k.gpg] http://four.example/debian bookworm-security main",
		"deb [signed-by=/usr/share/keyrings/k.gpg] http://three.example/debian bookworm main",
		"deb [signed-by=/usr/share/keyrings/k.gpg] http://three.example/debian bookworm-security main",
		"deb http://five.example/debian bookworm main",
		"deb http://one.example/debian bookworm main",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, err = sources(etc, "sid")
	if err == nil || !strings.Contains(err.Error(), "--mirror") {
		t.Errorf("no source: %v, want advice", err)
	}
}

func FuzzSources(f *testing.F) {
	f.Add("deb [a=b] http://x bookworm main\n")
	f.Add("Types: deb\nURIs: http://x\nSuites: bookworm\nComponents: main\n")
	f.Add(" : \n\n:\r\ndeb [\ndeb")
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range append(oneLine(text, "bookworm"), deb822(text, "bookworm")...) {
			if !strings.HasPrefix(line, "deb ") || !strings.HasSuffix(line, " main") || !strings.Contains(line, " bookworm") {
				t.Errorf("%q gives %q", text, line)
			}
		}
	})
}
