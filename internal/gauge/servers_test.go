package gauge

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func startUWSGI(t *testing.T, upstream string) *process {
	return uwsgiWith(t, upstream, "--processes", "4")
}

func startUWSGIThreads(t *testing.T, upstream string) *process {
	return uwsgiWith(t, upstream, "--processes", "2", "--threads", "2")
}

func uwsgiWith(t *testing.T, upstream string, args ...string) *process {
	t.Helper()
	port := freePort(t)
	args = append(args, "--plugin", "python3", "--master", "--die-on-term",
		"--http-socket", "127.0.0.1:"+strconv.Itoa(port), "--wsgi-file", "app.py", "--callable", "app")
	return launch(t, port, map[string]string{"app.py": wsgi}, []string{"UPSTREAM=" + upstream}, "/usr/bin/uwsgi", args...)
}

func startPHP(t *testing.T, upstream string) *process {
	t.Helper()
	bins, err := filepath.Glob("/usr/sbin/php-fpm*")
	if err != nil || len(bins) == 0 {
		t.Fatalf("php-fpm is not installed: %v", err)
	}
	port := freePort(t)
	conf := fmt.Sprintf(`[global]
error_log = /dev/stderr
daemonize = no
[www]
listen = 127.0.0.1:%d
pm = static
pm.max_children = 4
`, port)
	if os.Getuid() == 0 {
		conf += "user = root\ngroup = root\n" // nobody may not see the test's directory
	}
	files := map[string]string{"fpm.conf": conf,
		"up.php": "<?php echo file_get_contents('" + upstream + "');\n"}
	return launch(t, port, files, nil, bins[0], "-n", "-y", "@DIR@/fpm.conf", "-R")
}

// askPHP speaks FastCGI (https://fastcgi-archives.github.io/FastCGI_Specification.html):
// one request, one connection.
func askPHP(p *process) error {
	conn, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	const begin, end, params, stdin = 1, 3, 4, 5
	script := filepath.Join(p.Dir, "up.php")
	var pairs []byte
	for _, kv := range [][2]string{{"SCRIPT_FILENAME", script}, {"REQUEST_METHOD", "GET"}, {"SCRIPT_NAME", "/up.php"}} {
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

func startApachePrefork(t *testing.T, upstream string) *process {
	return apacheWith(t, upstream, "prefork", "StartServers 4\nMinSpareServers 4\nMaxSpareServers 4\nMaxRequestWorkers 4\n")
}

func startApacheEvent(t *testing.T, upstream string) *process {
	return apacheWith(t, upstream, "event", "StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\nMinSpareThreads 1\nMaxSpareThreads 4\n")
}

func apacheWith(t *testing.T, upstream, mpm, limits string) *process {
	t.Helper()
	port := freePort(t)
	var conf strings.Builder
	fmt.Fprintf(&conf, "ServerRoot @DIR@\nServerName localhost\nPidFile @DIR@/pid\nListen 127.0.0.1:%d\nErrorLog /dev/stderr\n", port)
	for _, m := range []string{"mpm_" + mpm, "authz_core", "proxy", "proxy_http"} {
		fmt.Fprintf(&conf, "LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so\n", m, m)
	}
	conf.WriteString(limits + "ProxyPass / " + upstream + "/\n")
	if os.Getuid() == 0 {
		conf.WriteString("User nobody\nGroup nogroup\n")
	}
	return launch(t, port, map[string]string{"apache.conf": conf.String()}, nil,
		"/usr/sbin/apache2", "-f", "@DIR@/apache.conf", "-DFOREGROUND")
}
