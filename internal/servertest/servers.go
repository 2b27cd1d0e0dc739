package servertest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// Where Debian has its gunicorn and its Python; others may be first in PATH.
const (
	GunicornBin = "/usr/bin/gunicorn"
	PythonBin   = "/usr/bin/python3"
	uwsgiBin    = "/usr/bin/uwsgi"
	apacheBin   = "/usr/sbin/apache2"
)

// Gunicorn starts gunicorn with [WSGI].
func Gunicorn(t testing.TB, upstream string, args ...string) *Process {
	t.Helper()
	port := FreePort(t)
	args = append(args, "-b", onPort(port), "app:app")
	return Launch(t, port, map[string]string{"app.py": WSGI}, []string{"UPSTREAM=" + upstream}, GunicornBin, args...)
}

// GunicornApp starts gunicorn at an address of any network, as [LaunchAt] has it,
// with an app of one's own: a module whose callable is app.
func GunicornApp(t testing.TB, network, address, app string, args ...string) *Process {
	t.Helper()
	bind := address
	if network == "unix" {
		bind = "unix:" + address
	}
	args = append(args, "-b", bind, "own:app")
	return LaunchAt(t, network, address, map[string]string{"own.py": app}, nil, GunicornBin, args...)
}

// UWSGI starts uwsgi with [WSGI].
func UWSGI(t testing.TB, upstream string, args ...string) *Process {
	t.Helper()
	port := FreePort(t)
	args = append(args, "--plugin", "python3", "--master", "--die-on-term",
		"--http-socket", onPort(port), "--wsgi-file", "app.py", "--callable", "app")
	return Launch(t, port, map[string]string{"app.py": WSGI}, []string{"UPSTREAM=" + upstream}, uwsgiBin, args...)
}

// Node starts Node.js with a script, whose first argument is the port.
func Node(t testing.TB, script string) *Process {
	t.Helper()
	port := FreePort(t)
	return Launch(t, port, map[string]string{"server.js": script}, nil, "node", "server.js", fmt.Sprint(port))
}

// phpFPM finds the program, which has its version in its name.
func phpFPM(t testing.TB) string {
	t.Helper()
	bins, err := filepath.Glob("/usr/sbin/php-fpm*")
	if err != nil || len(bins) == 0 {
		t.Fatalf("php-fpm is not installed: %v", err)
	}
	return bins[0]
}

// PHP starts php-fpm with a configuration of its own.
func PHP(t testing.TB, port int, conf string, files map[string]string) *Process {
	t.Helper()
	all := map[string]string{"fpm.conf": "[global]\nerror_log = /dev/stderr\ndaemonize = no\n" + conf}
	for name, text := range files {
		all[name] = text
	}
	return Launch(t, port, all, nil, phpFPM(t), "-n", "-y", "@DIR@/fpm.conf", "-R")
}

// PHPPool is a pool for the configuration of [PHP]: its name, where it listens,
// and its settings, a line each.
func PHPPool(name, listen string, settings ...string) string {
	return fmt.Sprintf("[%s]\n%slisten = %s\n%s\n", name, AsRoot("user = root\ngroup = root\n"), listen, strings.Join(settings, "\n"))
}

// phpScript asks the upstream and passes its answer on.
const phpScript = "up.php"

func startPHP(t testing.TB, upstream string) *Process {
	t.Helper()
	port := FreePort(t)
	return PHP(t, port, PHPPool("www", onPort(port), "pm = static", "pm.max_children = 4"),
		map[string]string{phpScript: "<?php echo file_get_contents('" + upstream + "');\n"})
}

// askPHP speaks FastCGI (https://fastcgi-archives.github.io/FastCGI_Specification.html):
// one request, one connection.
func askPHP(p *Process) error {
	conn, err := net.Dial("tcp4", p.Address())
	if err != nil {
		return err
	}
	defer conn.Close()
	const begin, end, params, stdin = 1, 3, 4, 5
	script := filepath.Join(p.Dir, phpScript)
	var pairs []byte
	for _, kv := range [][2]string{{"SCRIPT_FILENAME", script}, {"REQUEST_METHOD", "GET"}, {"SCRIPT_NAME", "/" + phpScript}} {
		pairs = append(pairs, byte(len(kv[0])), byte(len(kv[1])))
		pairs = append(pairs, kv[0]+kv[1]...)
	}
	var b []byte
	for _, r := range []struct {
		kind byte
		body []byte
	}{{begin, []byte{0, 1, 0, 0, 0, 0, 0, 0}}, {params, pairs}, {params, nil}, {stdin, nil}} {
		b = append(b, 1, r.kind, 0, 1)
		b = binary.BigEndian.AppendUint16(b, uint16(len(r.body)))
		b = append(append(b, 0, 0), r.body...)
	}
	if _, err := conn.Write(b); err != nil {
		return err
	}
	var out strings.Builder
	for in := bufio.NewReader(conn); ; {
		var head [8]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint16(head[4:])) + int64(head[6])
		if _, err := io.CopyN(&out, in, size); err != nil {
			return err
		}
		if head[1] == end {
			break
		}
	}
	if !strings.Contains(out.String(), "done") {
		return fmt.Errorf("php answered %q", out.String())
	}
	return nil
}

func startApachePrefork(t testing.TB, upstream string) *Process {
	return apache(t, upstream, "prefork", "StartServers 4\nMinSpareServers 4\nMaxSpareServers 4\nMaxRequestWorkers 4\n")
}

func startApacheEvent(t testing.TB, upstream string) *Process {
	return apache(t, upstream, "event", "StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\nMinSpareThreads 1\nMaxSpareThreads 4\n")
}

func apache(t testing.TB, upstream, mpm, limits string) *Process {
	t.Helper()
	port := FreePort(t)
	var conf strings.Builder
	fmt.Fprintf(&conf, "ServerRoot @DIR@\nServerName localhost\nPidFile @DIR@/pid\nListen %s\nErrorLog /dev/stderr\n", onPort(port))
	for _, m := range []string{"mpm_" + mpm, "authz_core", "proxy", "proxy_http"} {
		fmt.Fprintf(&conf, "LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so\n", m, m)
	}
	conf.WriteString(limits + "ProxyPass / " + upstream + "/\n" + AsRoot("User nobody\nGroup nogroup\n"))
	return Launch(t, port, map[string]string{"apache.conf": conf.String()}, nil,
		apacheBin, "-f", "@DIR@/apache.conf", "-DFOREGROUND")
}
