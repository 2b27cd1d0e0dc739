//go:build race

package traffic_test

// The race detector keeps a history of every access in the process's memory.
const raceDetector = true
