//go:build race

package measure

const underRace = true
