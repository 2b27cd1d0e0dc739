package probe

import (
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brink/internal/traffic"
)

func TestTargets(t *testing.T) {
	for _, c := range []struct{ url, addr, host, path string }{
		{"http://example.com", "example.com:80", "example.com", "/"},
		{"https://example.com", "example.com:443", "example.com", "/"},
		{"http://127.0.0.1:8000/thread-hold?secs=5", "127.0.0.1:8000", "127.0.0.1:8000", "/thread-hold?secs=5"},
		{"http://[::1]:8000/a%20b", "[::1]:8000", "[::1]:8000", "/a%20b"},
		{"HTTP://example.com?x=1", "example.com:80", "example.com", "/?x=1"},
		{"http://example.com/ä", "example.com:80", "example.com", "/%C3%A4"},
	} {
		got, err := ParseTarget(c.url)
		if err != nil || got.addr != c.addr || got.host != c.host || got.path != c.path || got.secure != strings.HasPrefix(c.url, "https") {
			t.Errorf("%s: %+v, %v; want %s, %s, %s", c.url, got, err, c.addr, c.host, c.path)
		}
	}
}

func TestURLsThatAreNoGood(t *testing.T) {
	for url, want := range map[string]string{
		"":                        "http://",
		"127.0.0.1:8000":          "first path segment",
		"localhost:8000/":         "it must start with http:// or https://",
		"ftp://example.com/":      "it must start with http:// or https://",
		"http:///x":               "it names no host",
		"http://u:p@example.com":  "leave them out",
		"http://example.com/#top": "never sent",
		"http://example.com:0/":   "the port 0 does not exist",
		"http://h:70000/":         "the port 70000 does not exist",
		"http://exämple.com/":     "xn--",
		"http://h/?q=a b":         "escaped",
		"http://h/%zz":            "invalid URL escape",
		"http://h/\x00":           "invalid control character",
	} {
		_, err := ParseTarget(url)
		if err == nil || !strings.HasPrefix(err.Error(), "URL \"") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", url, err, want)
		}
	}
}

func TestHostThatIsNotFound(t *testing.T) {
	target, err := ParseTarget("http://not..a.name/")
	if err != nil {
		t.Fatal(err)
	}
	err = target.Lookup(t.Context())
	if want := `URL "http://not..a.name/": the address of not..a.name cannot be found`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// What the environment names and cannot be used is told before anything is sent,
// and matters to nobody who uses no TLS.
func TestAuthoritiesOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	srv := httptest.NewTLSServer(nil)
	srv.Close()
	good := file("good.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})))
	empty, gone := file("empty.pem", "nobody\n"), filepath.Join(dir, "gone")
	secure, plain := targets(t, "https://127.0.0.1/"), targets(t, "http://127.0.0.1/")
	for _, c := range []struct{ name, file, dir, want string }{
		{"none named", "", "", ""},
		{"good", good, dir, ""},
		{"no file", gone, "", "SSL_CERT_FILE names " + gone + ", which cannot be read: no such file or directory"},
		{"a folder", dir, "", "SSL_CERT_FILE names " + dir + ", which cannot be read: is a directory"},
		{"no certificate", empty, "", "SSL_CERT_FILE names " + empty + ", which holds no certificate in PEM"},
		{"no folder", good, dir + ":" + gone, "SSL_CERT_DIR names " + gone + ", which cannot be read: no such file or directory"},
	} {
		t.Setenv("SSL_CERT_FILE", c.file)
		t.Setenv("SSL_CERT_DIR", c.dir)
		if got := fmt.Sprint(cmp.Or(CheckAuthorities(append(plain, secure...)), errors.New(""))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if err := CheckAuthorities(plain); err != nil {
			t.Errorf("%s, without TLS: %v", c.name, err)
		}
	}
}

// Whatever is taken for a URL can be sent.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"http://h", "https://[::1]:1/a?b=c", "http://h/%20", "http://h/#", "http://h?", "http://a b/", "://", "http://h:/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := ParseTarget(text)
		if err != nil {
			return
		}
		o := Options{Traffic: traffic.Spec{Kind: traffic.KindBatch, Count: 1, Timeout: time.Second}}
		if _, err := o.Specs([]Target{target}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
