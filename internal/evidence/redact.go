package evidence

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const blanked = "***"

var (
	secretPair   = expression(`(?i)((?:[\w.-]*(?:` + secretPattern(false) + `)[\w-]*)["']?\s*[=:]\s*["']?)([^\s"'&;,]+)`)
	secretOption = expression(`(?i)(--?(?:[\w-]*(?:` + secretPattern(true) + `)[\w-]*)\s+)(\S+)`)
	secretURL    = expression(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^\s/@:]*):([^\s/@]*)@`)
	secretBearer = expression(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._~=-]{8,}`)
	secretJWT    = expression(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`)
	secretLong   = expression(`\b[A-Za-z0-9+_-]{40,}={0,2}`)
	containerID  = expression(`[0-9a-f]{32,64}`)
)

// secretName is a name behind which a secret stands.
type secretName struct {
	word    string // is in every name that the pattern fits
	pattern string
	// option says that it is one behind dashes too: --stop-signal has no signature.
	option bool
}

var secretNames = []secretName{
	{"passw", "password", true}, {"passw", "passwd", true}, {"pwd", "pwd", false},
	{"secret", "secret", true}, {"token", "token", true}, {"credential", "credential", true}, {"auth", "auth", true},
	{"key", "api[_-]?key", true}, {"key", "access[_-]?key", true}, {"key", "account[_-]?key", true}, {"key", "private[_-]?key", true},
	{"sharedaccess", "sharedaccess", false}, {"connectionstring", "connectionstring", false}, {"sig", "sig", false},
}

// secretPattern is one of the patterns of all names, or of those of options.
func secretPattern(options bool) string {
	var patterns []string
	for _, n := range secretNames {
		if n.option || !options {
			patterns = append(patterns, n.pattern)
		}
	}
	return strings.Join(patterns, "|")
}

// secretWords are the words of secretNames, each once.
var secretWords = func() (words []string) {
	for _, n := range secretNames {
		if !slices.Contains(words, n.word) {
			words = append(words, n.word)
		}
	}
	return words
}()

// leastLong is the length of the shortest word of secretLong.
const leastLong = 40

// mayName says quickly whether a text may have one of the words, in whatever case:
// letters beyond ASCII can be another case of one in it.
func mayName(text string, words ...string) bool {
	lower := strings.ToLower(text)
	ascii := !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	return !ascii || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
}

// redactText blanks what looks like a secret: by its name, by its place behind
// an option or in a URL, and by its form.
func redactText(text string) string {
	if strings.Contains(text, "://") {
		text = secretURL().ReplaceAllString(text, "${1}"+blanked+"@")
	}
	if mayName(text, "bearer", "basic") {
		text = secretBearer().ReplaceAllString(text, "$1 "+blanked)
	}
	if strings.Contains(text, "eyJ") {
		text = secretJWT().ReplaceAllString(text, blanked)
	}
	if mayName(text, secretWords...) {
		text = secretPair().ReplaceAllString(text, "${1}"+blanked)
		text = secretOption().ReplaceAllString(text, "${1}"+blanked)
	}
	if len(text) < leastLong {
		return text
	}
	return secretLong().ReplaceAllStringFunc(text, func(word string) string {
		// The ids of containers are long too, and no secrets.
		rest := containerID().ReplaceAllString(word, "")
		if len(rest) < 24 || !strings.ContainsAny(rest, "0123456789") {
			return word
		}
		return blanked
	})
}
