package experiment

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// pattern is what a text must look like.
type pattern struct {
	// source is the expression, also for the JSON Schema.
	source string
	// allowed says the same in words.
	allowed string
	match   func(string) bool
}

// expression is compiled when it is first used: most commands read no
// experiment, and should not wait for this.
func expression(source string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
}

func compiled(source, allowed string) pattern {
	re := expression(source)
	return pattern{source: source, allowed: allowed, match: func(text string) bool { return re().MatchString(text) }}
}

var (
	namePattern = compiled(`^[a-z0-9][a-z0-9-]{0,63}$`,
		"at most 64 small letters, digits and hyphens, the first no hyphen")
	// stepPattern also admits what levels add to a name.
	stepPattern = compiled(`^[a-z0-9][A-Za-z0-9=._-]{0,199}$`,
		"small letters, digits and hyphens, the first no hyphen")
	idPattern = compiled(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`,
		"at most 64 letters, digits and hyphens, the first no hyphen")
	factorPattern = compiled(`^[A-Za-z][A-Za-z0-9_]{0,63}$`,
		"at most 64 letters, digits and underscores, the first a letter")
	envPattern = compiled(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`,
		"letters, digits and underscores, the first no digit")
	urlPattern  = pattern{source: `^https?://[^\s]+$`, allowed: "an address that starts with http:// or https://", match: isURL}
	pathPattern = pattern{source: `^/[!"$-~]*$`,
		allowed: "a path that starts with / and has spaces, # and special characters escaped", match: isTarget}
)

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(text, " \t\r\n")
}

// isTarget holds for a request target in origin form, RFC 9112, section 3.2.1.
func isTarget(text string) bool {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }
	return strings.HasPrefix(text, "/") && len(text) <= 4096 && !strings.ContainsFunc(text, odd)
}

// secret tells whether a variable's name looks as if its value must not be
// recorded.
func secret(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"PASSWORD", "PASSWD", "TOKEN", "SECRET", "CREDENTIAL", "CONNECTION_STRING", "CONNECTIONSTRING"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	for part := range strings.SplitSeq(upper, "_") {
		if part == "PWD" || strings.HasSuffix(part, "KEY") || strings.HasSuffix(part, "KEYS") {
			return true
		}
	}
	return false
}
