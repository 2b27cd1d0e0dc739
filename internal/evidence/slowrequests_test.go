package evidence

import "testing"

const fpmSlowLog = `
[18-May-2026 14:02:03]  [pool shop] pid 703
script_filename = /srv/shop/public/index.php
[0x00007f2b1a8120a0] execute() /srv/shop/vendor/doctrine/dbal/src/Driver/PDO/Statement.php:130
[0x00007f2b1a812020] fetch() /srv/shop/src/Cart.php:12

[18-May-2026 14:02:09]  [pool shop] pid 704
script_filename = /srv/shop/public/search.php
[0x00007f2b1a8120a0] curl_exec() /srv/shop/src/Http.php:40
`

// php-fpm writes the innermost frame first; each entry is one request.
func TestFpmsSlowLogNamesTheCall(t *testing.T) {
	c := readFiles(t, map[string]string{"slow.log": fpmSlowLog})
	slow := c.EventsOf(SlowRequest)
	if len(slow) != 2 || slow[0].App != "shop" || slow[0].PID != 703 || slow[0].Path != "/srv/shop/public/index.php" ||
		slow[0].Frame != "execute() /srv/shop/vendor/doctrine/dbal/src/Driver/PDO/Statement.php:130" || slow[1].Frame != "curl_exec() /srv/shop/src/Http.php:40" {
		t.Errorf("slow requests: %+v", slow)
	}
	if c.LogOf("php-fpm slow log") == nil {
		t.Errorf("the log is %v", c.Logs)
	}
}

func TestUwsgiTellsWhichRequestsTakeLong(t *testing.T) {
	c := readFiles(t, map[string]string{"uwsgi.log": `[pid: 8|app: 0|req: 1/2] 10.0.0.9 () {40 vars in 612 bytes} [Fri May 29 12:10:02 2026] GET /fast => generated 512 bytes in 4999 msecs (HTTP/1.1 200) 2 headers in 80 bytes (1 switches on core 0)
[pid: 8|app: 0|req: 2/3] 10.0.0.9 () {40 vars in 612 bytes} [Fri May 29 12:10:09 2026] POST /slow?token=abc => generated 512 bytes in 5000 msecs (HTTP/1.1 200) 2 headers in 80 bytes (1 switches on core 0)
`})
	slow := c.EventsOf(SlowRequest)
	if len(slow) != 1 || slow[0].Path != "/slow" || slow[0].Elapsed.Number != 5 {
		t.Errorf("slow requests: %+v", slow)
	}
}

func FuzzFpmSlowLog(f *testing.F) { fuzzFile(f, "slow.log", fpmSlowLog) }
