package queue_test

import (
	"fmt"
	"slices"
	"time"

	"brink/internal/queue"
)

// Ten requests of 5 s at once on four workers; two clients do not
// wait for their turn, and are served all the same.
func ExampleSimulate() {
	requests := queue.Requests(queue.First(10, queue.Every(0)), queue.Constant(5*time.Second))
	var waits []time.Duration
	result, err := queue.Simulate(queue.Config{
		Workers:        4,
		Limit:          queue.Backlog(2048),
		Patience:       queue.Constant(8 * time.Second),
		ServeAbandoned: true,
		Each:           func(v queue.Visit) { waits = append(waits, v.Wait) },
	}, requests)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Served, "served,", result.Abandoned, "abandoned,", result.Wasted, "s wasted")
	fmt.Println("longest wait", slices.Max(waits))
	// Output:
	// 8 served, 2 abandoned, 10 s wasted
	// longest wait 10s
}

func ExampleWorkersFor() {
	fmt.Printf("sustainable: %.0f/s\n", queue.SustainableRate(4, 0.1))
	fmt.Printf("wait at 38/s: %.0f ms\n", 1000*queue.MDC(4, 38, 0.1).Mean)
	n, err := queue.WorkersFor(0.050, 38, 0.1, queue.MDC)
	fmt.Println("for 50 ms:", n, err)
	// Output:
	// sustainable: 40/s
	// wait at 38/s: 224 ms
	// for 50 ms: 5 <nil>
}
