package cli

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// badApp is an app of the runtime command. It serves, or misbehaves in the way
// of its first argument. Nothing of it outlives lifetime.
func badApp(args []string) {
	const lifetime = time.Minute
	switch args[0] {
	case "dies":
		fmt.Fprintln(os.Stderr, "the database is not there \x1b]0;evil\a\x1b[31m")
		os.Exit(7)
	case "mute":
		time.Sleep(lifetime)
		return
	case "leaves":
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	addr := net.JoinHostPort(os.Getenv("BIND"), os.Getenv("PORT"))
	if args[0] == "taken" {
		addr = args[1]
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	time.AfterFunc(lifetime, func() { os.Exit(0) })
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			badAnswer(conn, args[0])
		}()
	}
}

func badAnswer(conn net.Conn, how string) {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
	switch {
	case how == "deaf":
		time.Sleep(time.Minute)
	case strings.Contains(line, "/health"):
		fmt.Fprint(conn, fine)
	case how == "garbage":
		fmt.Fprint(conn, "<script>alert(1)</script> is not HTTP\r\n\r\n")
	case how == "endless":
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		block := []byte(strings.Repeat("x", 1<<16))
		for err == nil {
			_, err = conn.Write(block)
			time.Sleep(time.Millisecond) // endless, but no load
		}
	case how == "holds":
		time.Sleep(time.Minute)
	default:
		fmt.Fprint(conn, fine)
	}
}
