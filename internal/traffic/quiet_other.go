//go:build !linux

package traffic

import "net"

func quiet(c net.Conn) net.Conn { return c }
