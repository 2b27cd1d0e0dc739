//go:build race

package evidence

// memoryFactor is how much more memory the race detector takes at most.
// https://go.dev/doc/articles/race_detector#Runtime_Overheads
const memoryFactor = 10
