package evidence

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const blanked = "***"

var (
	secretPair   = expression(`(?i)((?:[\w.-]*(?:password|passwd|pwd|secret|token|apikey|api[_-]key|access[_-]?key|account[_-]?key|sharedaccess\w*|connectionstring|credential|auth|private[_-]?key|sig|signature)[\w-]*)["']?\s*[=:]\s*["']?)([^\s"'&;,]+)`)
	secretOption = expression(`(?i)(--?(?:[\w-]*(?:password|passwd|secret|token|api-?key|access-?key|credential|auth|private-?key)[\w-]*)\s+)(\S+)`)
	secretURL    = expression(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^\s/@:]*):([^\s/@]*)@`)
	secretBearer = expression(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._~=-]{8,}`)
	secretJWT    = expression(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`)
	secretLong   = expression(`\b[A-Za-z0-9+_-]{40,}={0,2}`)
	containerID  = expression(`[0-9a-f]{32,64}`)
)

// secretWords are in every name of secretPair and secretOption.
var secretWords = []string{"passw", "pwd", "secret", "token", "key", "sharedaccess", "connectionstring", "credential", "auth", "sig"}

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
