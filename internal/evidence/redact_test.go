package evidence

import "testing"

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
