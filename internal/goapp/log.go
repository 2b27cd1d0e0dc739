package goapp

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	levelInfo     = "INFO"
	levelWarning  = "WARNING"
	levelError    = "ERROR"
	levelCritical = "CRITICAL"
)

// logger writes the lines that the package comment lists. It is a Writer
// because the workers' stderr passes through it too.
type logger struct {
	mu  sync.Mutex
	out io.Writer
}

// Write passes p on as it is.
func (l *logger) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *logger) printf(level, format string, args ...any) {
	stamp := time.Now().Format("2006-01-02 15:04:05 -0700")
	// A log that cannot be written must not stop the workload.
	_, _ = fmt.Fprintf(l, "[%s] [%d] [%s] %s\n", stamp, os.Getpid(), level, fmt.Sprintf(format, args...))
}
