package record

import "strings"

// sampleColumn ties a column of the table samples to a field of a Sample.
type sampleColumn struct {
	name  string
	field func(*Sample) *int64
}

var sampleColumns = []sampleColumn{
	{"cpu_ns", func(s *Sample) *int64 { return &s.CPUNs }},
	{"busy_ns", func(s *Sample) *int64 { return &s.BusyNs }},
	{"rss", func(s *Sample) *int64 { return &s.RSS }},
	{"procs", func(s *Sample) *int64 { return &s.Procs }},
	{"queue_depth", func(s *Sample) *int64 { return &s.QueueDepth }},
	{"queue_limit", func(s *Sample) *int64 { return &s.QueueLimit }},
	{"oldest_ms", func(s *Sample) *int64 { return &s.OldestMs }},
	{"abandoned", func(s *Sample) *int64 { return &s.Abandoned }},
	{"overflows", func(s *Sample) *int64 { return &s.Overflows }},
	{"listen_drops", func(s *Sample) *int64 { return &s.ListenDrops }},
	{"mem_total", func(s *Sample) *int64 { return &s.MemTotal }},
	{"mem_available", func(s *Sample) *int64 { return &s.MemAvailable }},
	{"mem_free", func(s *Sample) *int64 { return &s.MemFree }},
	{"cached", func(s *Sample) *int64 { return &s.Cached }},
	{"anon_pages", func(s *Sample) *int64 { return &s.AnonPages }},
	{"slab", func(s *Sample) *int64 { return &s.Slab }},
	{"swap_total", func(s *Sample) *int64 { return &s.SwapTotal }},
	{"swap_free", func(s *Sample) *int64 { return &s.SwapFree }},
	{"pgscan_kswapd", func(s *Sample) *int64 { return &s.PgscanKswapd }},
	{"pgscan_direct", func(s *Sample) *int64 { return &s.PgscanDirect }},
	{"pgsteal_kswapd", func(s *Sample) *int64 { return &s.PgstealKswapd }},
	{"pgsteal_direct", func(s *Sample) *int64 { return &s.PgstealDirect }},
	{"pswpin", func(s *Sample) *int64 { return &s.Pswpin }},
	{"pswpout", func(s *Sample) *int64 { return &s.Pswpout }},
	{"allocstall", func(s *Sample) *int64 { return &s.Allocstall }},
	{"pgmajfault", func(s *Sample) *int64 { return &s.Pgmajfault }},
	{"refault_anon", func(s *Sample) *int64 { return &s.RefaultAnon }},
	{"refault_file", func(s *Sample) *int64 { return &s.RefaultFile }},
	{"oom_kills", func(s *Sample) *int64 { return &s.OOMKills }},
	{"psi_cpu_some", func(s *Sample) *int64 { return &s.PSICPUSome }},
	{"psi_mem_some", func(s *Sample) *int64 { return &s.PSIMemSome }},
	{"psi_mem_full", func(s *Sample) *int64 { return &s.PSIMemFull }},
	{"psi_io_some", func(s *Sample) *int64 { return &s.PSIIOSome }},
	{"psi_io_full", func(s *Sample) *int64 { return &s.PSIIOFull }},
	{"agent_cpu_ns", func(s *Sample) *int64 { return &s.AgentCPUNs }},
	{"agent_rss", func(s *Sample) *int64 { return &s.AgentRSS }},
}

// sampleNames lists the columns of a sample but its scope and time.
func sampleNames() []string {
	names := make([]string, len(sampleColumns))
	for i, c := range sampleColumns {
		names[i] = c.name
	}
	return names
}

// insert is an INSERT of one row into a table.
func insert(table string, columns ...string) string {
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(columns)-1) + ")"
}

// unlessZero stores 0 as NULL.
func unlessZero[T int | int32 | int64](x T) any {
	if x == 0 {
		return nil
	}
	return int64(x)
}

// unlessNegative stores a negative number as NULL.
func unlessNegative(x int64) any {
	if x < 0 {
		return nil
	}
	return x
}
