package goapp

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustAddr(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	addr, err := netip.ParseAddrPort(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func TestValidateNamesTheField(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		"": func(*Config) {},
		`bind must be an IP address and a port such as 127.0.0.1:8000, not "localhost:8000"`: func(c *Config) { c.Bind = "localhost:8000" },
		`bind must be an IP address and a port such as 127.0.0.1:8000, not "127.0.0.1"`:      func(c *Config) { c.Bind = "127.0.0.1" },
		`bind must be an IP address and a port such as 127.0.0.1:8000, not "[fe80::1%lo]:1"`: func(c *Config) { c.Bind = "[fe80::1%lo]:1" },
		"workers must be from 1 to 1024, not 0":                                              func(c *Config) { c.Workers = 0 },
		"workers must be from 1 to 1024, not 1025":                                           func(c *Config) { c.Workers = 1025 },
		"timeout must be 0 (no watchdog) or from 100ms to 1h0m0s, not 99ms":                  func(c *Config) { c.Timeout = 99 * time.Millisecond },
		"timeout must be 0 (no watchdog) or from 100ms to 1h0m0s, not -1s":                   func(c *Config) { c.Timeout = -time.Second },
		"graceful timeout must be from 0 to 1h0m0s, not 2h0m0s":                              func(c *Config) { c.GracefulTimeout = 2 * time.Hour },
		"backlog must be from 1 to 65535, not 0":                                             func(c *Config) { c.Backlog = 0 },
		"keep-alive must be from 0 to 1h0m0s, not -1s":                                       func(c *Config) { c.KeepAlive = -time.Second },
		"keep-alive (30s) must be shorter than timeout (30s), which would kill a waiting worker": func(c *Config) {
			c.KeepAlive = 30 * time.Second
		},
		"the allocation must be from 0 to 4096 MB, not 4097": func(c *Config) { c.AllocMB = 4097 },
	} {
		c := DefaultConfig()
		spoil(&c)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestValidateAllowsNoWatchdogAndIPv6(t *testing.T) {
	c := DefaultConfig()
	c.Timeout, c.KeepAlive, c.Bind = 0, time.Minute, "[::1]:0"
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestFromEnv(t *testing.T) {
	type env = map[string]string
	for _, c := range []struct {
		env  env
		bind string
		mb   int
		err  string
	}{
		{env{}, "127.0.0.1:8000", 0, ""},
		{env{"PORT": "", "ALLOC_MB": ""}, "127.0.0.1:8000", 0, ""},
		{env{"PORT": "9000", "BIND": "0.0.0.0", "ALLOC_MB": "75"}, "0.0.0.0:9000", 75, ""},
		{env{"BIND": "::"}, "[::]:8000", 0, ""},
		{env{"PORT": "65536"}, "", 0, `PORT must be a whole number from 0 to 65535, not "65536"`},
		{env{"PORT": "http"}, "", 0, `PORT must be a whole number from 0 to 65535, not "http"`},
		{env{"ALLOC_MB": "4097"}, "", 0, `ALLOC_MB must be a whole number of megabytes from 0 to 4096, not "4097"`},
		{env{"ALLOC_MB": "+1"}, "", 0, `ALLOC_MB must be a whole number of megabytes from 0 to 4096, not "+1"`},
		{env{"BIND": "here"}, "", 0, `bind must be an IP address and a port such as 127.0.0.1:8000, not "here:8000"`},
	} {
		cfg, err := FromEnv(func(name string) string { return c.env[name] })
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%v: got %v, want %s", c.env, err, c.err)
			}
			continue
		}
		if err != nil || cfg.Bind != c.bind || cfg.AllocMB != c.mb {
			t.Errorf("%v: got %q, %d MB, %v, want %q, %d MB", c.env, cfg.Bind, cfg.AllocMB, err, c.bind, c.mb)
		}
	}
}

// What a parser accepts is in range, and is the number that strconv reads.
func FuzzParameters(f *testing.F) {
	for _, s := range []string{"", "0", "1.5", "3600", "3600.01", "1e3", "nan", "-1", "0x1", "999999999999", "1.", ".5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query := url.Values{"n": {text}}
		if secs, err := seconds(query, "n"); err == nil {
			if want, _ := strconv.ParseFloat(text, 64); secs < 0 || secs > 3600 || secs != want || strings.Trim(text, "0123456789.") != "" {
				t.Errorf("seconds took %q for %v", text, secs)
			}
		}
		if n, err := whole(query, "n", 2, 500); err == nil {
			if want, _ := strconv.Atoi(text); n < 2 || n > 500 || n != want || strings.Trim(text, "0123456789") != "" {
				t.Errorf("whole took %q for %d", text, n)
			}
		}
	})
}

// Whatever a kernel file holds, it is numbers or an error.
func FuzzProcFiles(f *testing.F) {
	f.Add("MemTotal:        1899652 kB\nHugePages_Total:       2\n")
	f.Add("some avg10=1.50 avg60=0.25 avg300=0.00 total=170177090\n")
	f.Add("VmRSS:\t 12 kB\n")
	f.Add("\n\n")
	f.Add("some =\nVmRSS\n:")
	f.Fuzz(func(t *testing.T, text string) {
		numbers, err := parseNumbers(text)
		for name, n := range numbers {
			if _, ok := n.(uint64); !ok || err != nil {
				t.Errorf("%q is %v (%v)", name, n, err)
			}
		}
		if pressure, err := parsePressure(text); err == nil {
			for kind, values := range pressure {
				for name, n := range values.(object) {
					if x, ok := n.(float64); ok && x < 0 {
						t.Errorf("%s %s is %v", kind, name, x)
					}
				}
			}
		}
		if self, err := parseSelf(text); err == nil && self["pid"] == nil {
			t.Error("no pid")
		}
	})
}

// The checksum of any amount of work is the closed form of the generator.
func TestBurnWorkFollowsTheory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.IntRange(1, 10).Draw(t, "units")
		if got, want := float64(burnWork(units)), lcgByTheory(int64(units)*100_000); got != want {
			t.Fatalf("%d units: got %v, want %v", units, got, want)
		}
	})
}
