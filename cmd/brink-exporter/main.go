// Command brink-exporter serves how busy the workers of listening servers are,
// for Prometheus. brink watch --prometheus starts it.
package main

import (
	"os"

	"brink/internal/exporter"
)

func main() { os.Exit(exporter.Main(os.Args[1:])) }
