//go:build !amd64

package gauge

var pollCalls map[int]waitCall
