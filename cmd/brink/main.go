// Command brink finds what breaks first when web apps share a machine, and
// proves it.
package main

import (
	"os"

	"brink/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
