//go:build !race

package evidence

const memoryFactor = 1
