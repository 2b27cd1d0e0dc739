// Package probe sends traffic to servers that somebody names, keeps every
// request in a CSV file and sums each URL up with intervals.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"brink/internal/traffic"
)

// Target is one URL that requests go to.
type Target struct {
	// URL is as it was given.
	URL string

	addr   string // host:port to dial
	name   string // the host's name, for TLS
	host   string // the Host header
	path   string // with the query
	secure bool
}

// ParseTarget reads an http or https URL. Its errors say in one sentence what is
// wrong with it.
func ParseTarget(text string) (Target, error) {
	wrong := func(format string, args ...any) (Target, error) {
		return Target{}, fmt.Errorf("URL %q: %s", text, fmt.Sprintf(format, args...))
	}
	u, err := url.Parse(text)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return wrong("%v", err)
	}
	port := u.Port()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong("it must start with http:// or https://")
	case u.Hostname() == "":
		return wrong("it names no host")
	case u.User != nil:
		return wrong("a user and a password are not sent; leave them out")
	case strings.ContainsFunc(u.Host, special):
		return wrong("a host has no spaces and no letters beyond a to z; a name that has is spelled xn--…")
	case strings.ContainsFunc(u.RequestURI(), special):
		return wrong("spaces and special characters must be escaped, a space as %%20")
	case u.Fragment != "":
		return wrong("what follows # is never sent to a server; leave it out")
	case port == "" && u.Scheme == "http":
		port = "80"
	case port == "":
		port = "443"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return wrong("the port %s does not exist; ports go from 1 to 65535", port)
	}
	return Target{
		URL: text, addr: net.JoinHostPort(u.Hostname(), port), name: u.Hostname(),
		host: u.Host, path: u.RequestURI(), secure: u.Scheme == "https",
	}, nil
}

// special holds for what RFC 9112, section 3.2, keeps out of a request target.
func special(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }

// Lookup finds the address of the target's host, so that requests do not wait
// for the name service.
func (t *Target) Lookup(ctx context.Context) error {
	addr, err := traffic.Lookup(ctx, t.addr)
	if err == nil {
		t.addr = addr
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fmt.Errorf("URL %q: the address of %s cannot be found: %s", t.URL, t.name, dns.Err)
	}
	return fmt.Errorf("URL %q: %w", t.URL, err)
}
