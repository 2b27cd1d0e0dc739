package evidence

import "fmt"

// pumaJSON reads Puma's control server's /stats: of a cluster with a status for
// each worker, or of a single process. pool_capacity is how many more requests
// a worker takes; backlog is what waits inside it.
//
// https://puma.io/puma/file.stats.html
func pumaJSON(b *builder, f *file, v any) (string, bool) {
	p := Pool{Server: "Puma", Seen: PoolStats, From: Source{File: f.name}, Note: "as Puma counts itself"}
	statuses := listAt(v, "worker_status")
	if statuses == nil {
		if at(v, "pool_capacity") == nil || at(v, "backlog") == nil {
			return "", false
		}
		statuses = []any{object{"last_status": v}}
	}
	sum := func(v Value, w Value, key string) Value {
		total := v.Plus(w)
		total.From = []Source{{File: f.name, Field: "worker_status[]." + key}}
		return total
	}
	zero := Known(0, Events)
	p.Queued, p.Idle, p.Workers = zero, zero, zero
	for i, s := range statuses {
		place := fmt.Sprintf("worker_status[%d]", i)
		number := func(key string) Value { return jsonNumber(f, s, Events, place, "last_status", key) }
		m := Member{
			Name: "worker " + textOf(at(s, "index")), PID: atoi(textOf(at(s, "pid"))), Queued: number("backlog"),
			Free: number("pool_capacity"), Max: number("max_threads"), State: "busy", From: Source{File: f.name, Field: place},
		}
		if m.Free.Above(0) {
			m.State = "idle"
		}
		p.Members = append(p.Members, m)
		p.Queued, p.Idle = sum(p.Queued, m.Queued, "last_status.backlog"), sum(p.Idle, m.Free, "last_status.pool_capacity")
		p.Workers = sum(p.Workers, m.Max, "last_status.max_threads")
	}
	p.Busy, p.Max = p.Workers.Minus(p.Idle), p.Workers
	b.c.Pools = append(b.c.Pools, p)
	return "Puma stats", len(p.Members) > 0
}
