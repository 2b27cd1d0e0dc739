package evidence

import (
	"strings"
	"testing"
)

func TestRedactText(t *testing.T) {
	for text, want := range map[string]string{
		"gunicorn --workers 2 app:app":         "gunicorn --workers 2 app:app",
		"app --password hunter2 --port 80":     "app --password *** --port 80",
		"DB_PASSWORD=hunter2 gunicorn app:app": "DB_PASSWORD=*** gunicorn app:app",
		// (?i) of RE2 folds ſ and s: https://www.unicode.org/Public/UCD/latest/ucd/CaseFolding.txt
		"DB_PAſſWORD=hunter2 gunicorn app:app":                                                        "DB_PAſſWORD=*** gunicorn app:app",
		"X-SIGNATURE: hunter2":                                                                        "X-SIGNATURE: ***",
		"postgres://user:hunter2@db/x":                                                                "postgres://***@db/x",
		"Authorization: Bearer abcdefgh12345678":                                                      "Authorization: *** ***",
		"x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc y":                                                "x *** y",
		"AccountKey=abc123==;EndpointSuffix=core":                                                     "AccountKey=***;EndpointSuffix=core",
		"key aGVsbG93b3JsZGhlbGxvd29ybGRoZWxsb3dvcmxkMTIzNDU2 end":                                    "key *** end",
		"/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope": "/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
	} {
		if got := redactText(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

// What looks for words first must not pass by a name that a pattern fits: each name
// is blanked on its own, in every way of writing it.
func TestEverySecretNameHasItsWord(t *testing.T) {
	for _, n := range secretNames {
		for _, between := range []string{"", "_", "-"} {
			name := strings.ReplaceAll(n.pattern, "[_-]?", between)
			if !strings.Contains(name, n.word) {
				t.Errorf("%s does not have the word %s, by which it is looked for", name, n.word)
			}
			for _, written := range []string{name, strings.ToUpper(name)} {
				if got, want := redactText("a "+written+"=hunter2 b"), "a "+written+"=*** b"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if got, want := redactText("a --"+written+" hunter2 b"), "a --"+written+" *** b"; n.option && got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		}
	}
	if text := "run --stop-signal SIGTERM --design modern"; redactText(text) != text {
		t.Errorf("%q became %q", text, redactText(text))
	}
}

func TestPathsHaveNoQuery(t *testing.T) {
	for target, want := range map[string]string{
		"/a/b?token=x": "/a/b", "https://shop.example/a?b=c": "/a", "https://shop.example": "/", "https://shop.example?x=1": "/",
		"/login?next=https://shop.example/secret": "/login", "/proxy/http://a/b": "/proxy/http://a/b", "": "", "*": "*",
	} {
		if got := pathOf(target); got != want {
			t.Errorf("the path of %q is %q, want %q", target, got, want)
		}
	}
}
