// Package bench compares package traffic with vegeta, side by side in one run:
// whether the latency that is reported is true, and what a request costs.
package bench
