// Package watch shows the readings of a [gauge.Gauge] to people and programs:
// as a table, with all details, as JSON. It adds what follows from a reading:
// the rate that the workers can sustain and the wait that theory expects.
package watch
