//go:build !amd64

package watch

var pollCalls map[int]waitCall
