package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// ask runs a query and returns its rows as text.
func ask(t *testing.T, r *Reader, text string) []string {
	t.Helper()
	_, rows, err := r.Query(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var lines []string
	for row, err := range rows {
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		cells := make([]string, len(row))
		for i, x := range row {
			cells[i] = fmt.Sprint(x)
		}
		lines = append(lines, strings.Join(cells, " | "))
	}
	return lines
}

func shipped(t *testing.T, name string) string {
	t.Helper()
	for _, q := range Queries() {
		if q.Name == name {
			return q.SQL
		}
	}
	t.Fatalf("no query is called %s", name)
	return ""
}

// TestShippedQueries asks the reference's three questions of the fixture. The
// expected rows follow from what fillFixture wrote.
func TestShippedQueries(t *testing.T) {
	r := open(t, golden)
	for name, want := range map[string][]string{
		// Minutes 03:05 (one interval: 50 %; 70 and 80 % used) and 03:06 (15 %;
		// 90 %), averaged; the fact's 4 CPUs do not count beside the plan's 2.
		"memory-and-cpu-trend": {
			"2026-01-02T03:05:00.000Z | CpuPercentage | local | 32.5",
			"2026-01-02T03:05:00.000Z | MemoryPercentage | local | 82.5",
		},
		"startup-failures": {"2026-01-02T03:05:00.000Z | site | 2"},
		// has_any takes whole words: "restarting" is not "restart".
		"restarts": {
			"2026-01-02T03:05:02.000Z | site | Worker FAILED to boot.",
			"2026-01-02T03:06:10.000Z | site | site: exited, pid 99, exit code 3",
			"2026-01-02T03:06:11.000Z | site | site: restarted: attempt 1",
		},
	} {
		if got := ask(t, r, shipped(t, name)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	if n := len(Queries()); n != 3 {
		t.Errorf("%d queries ship, want 3", n)
	}
}

// TestShippedQueriesOnAnything asks them of records that hold next to nothing.
func TestShippedQueriesOnAnything(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	stream := begin(t, w)
	if err := errors.Join(w.Sample(1, &Sample{AtNs: start}), w.Sample(1, &Sample{AtNs: start}), w.Probe(stream, answer(1))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	if err := create(t, empty).Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, empty} {
		r := open(t, path)
		for _, q := range Queries() {
			if q.Name == "" || q.Description == "" {
				t.Errorf("a query lacks its name or description: %+v", q)
			}
			if got := ask(t, r, q.SQL); got != nil {
				t.Errorf("%s: %v, want nothing", q.Name, got)
			}
		}
	}
}

// TestAzureColumns holds the views against the columns that Microsoft
// documents for the tables, less those of AzureMetrics that are deprecated,
// and the reference's aliases.
func TestAzureColumns(t *testing.T) {
	r := open(t, golden)
	common := " SourceSystem TenantId TimeGenerated Type _BilledSize _IsBillable _ResourceId _SubscriptionId"
	for view, want := range map[string]string{
		"AzureMetrics": "Average Count Maximum MetricName Minimum Resource ResourceGroup ResourceId ResourceProvider " +
			"SubscriptionId TimeGrain Total UnitName" + strings.Replace(common, " TenantId", "", 1),
		"AppServiceHTTPLogs": "CIp ComputerName Cookie CsBytes CsHost CsMethod CsUriQuery CsUriStem CsUsername Referer " +
			"Result ScBytes ScStatus ScSubStatus ScWin32Status SPort TimeTaken UserAgent SiteName" + common,
		"AppServiceConsoleLogs": "Category ContainerId Host Level OperationName ResultDescription SiteName Message" + common,
		"AppServicePlatformLogs": "ActivityId ContainerId DeploymentId Exception Host Level Message OperationName " +
			"StackTrace SiteName" + common,
	} {
		columns, rows, err := r.Query(t.Context(), "SELECT * FROM "+view)
		if err != nil {
			t.Fatal(err)
		}
		for range rows {
			break
		}
		got, wanted := map[string]bool{}, map[string]bool{}
		for _, c := range columns {
			got[c] = true
		}
		for c := range strings.FieldsSeq(want) {
			wanted[c] = true
		}
		equal(t, view, got, wanted)
	}
}

// TestAzureViews expects what follows from the fixture by hand: answers took
// 1, 3, 5, 5, 5, 5 and 10 s, the last five of them sent 1 µs after they were
// due; Total is Average, as the view says.
func TestAzureViews(t *testing.T) {
	r := open(t, golden)
	for query, want := range map[string][]string{
		`SELECT TimeGenerated, MetricName, Resource, UnitName, TimeGrain, Total, Average, Minimum, Maximum, Count
			FROM AzureMetrics ORDER BY 1, 2`: {
			"2026-01-02T03:05:00.000Z | AverageResponseTime | site | Seconds | PT1M | 4.857142142857143 | 4.857142142857143 | 1 | 9.999999 | 1",
			"2026-01-02T03:05:00.000Z | CpuPercentage | local | Percent | PT1M | 50 | 50 | 50 | 50 | 1",
			"2026-01-02T03:05:00.000Z | Http5xx | site | Count | PT1M | 2 | 2 | 2 | 2 | 1",
			"2026-01-02T03:05:00.000Z | HttpQueueLength | local | Count | PT1M | 4 | 4 | 0 | 8 | 1",
			"2026-01-02T03:05:00.000Z | MemoryPercentage | local | Percent | PT1M | 75 | 75 | 70 | 80 | 1",
			"2026-01-02T03:05:00.000Z | MemoryWorkingSet | site | Bytes | PT1M | 200 | 200 | 100 | 300 | 1",
			"2026-01-02T03:05:00.000Z | Requests | site | Count | PT1M | 7 | 7 | 7 | 7 | 1",
			"2026-01-02T03:06:00.000Z | CpuPercentage | local | Percent | PT1M | 15 | 15 | 15 | 15 | 1",
			"2026-01-02T03:06:00.000Z | Http5xx | site | Count | PT1M | 0 | 0 | 0 | 0 | 1",
			"2026-01-02T03:06:00.000Z | MemoryPercentage | local | Percent | PT1M | 90 | 90 | 90 | 90 | 1",
			"2026-01-02T03:06:00.000Z | Requests | site | Count | PT1M | 1 | 1 | 1 | 1 | 1",
		},
		`SELECT TimeGenerated, SiteName, CsHost, SPort, CsMethod, CsUriStem, CsUriQuery, ScStatus, TimeTaken, ScBytes, Result
			FROM AppServiceHTTPLogs ORDER BY 1, ScStatus`: {
			"2026-01-02T03:05:08.000Z | site | 127.0.0.1:8000 | 8000 | GET | /health | <nil> | 503 | 1000 | 9 | Failure",
			"2026-01-02T03:05:09.000Z | site | 127.0.0.1:8000 | 8000 | GET | /health | <nil> | 503 | 3000 | 9 | Failure",
			"2026-01-02T03:05:15.000Z | site | 127.0.0.1:8000 | 8000 | GET | /thread-hold | secs=5 | 200 | 5000 | 42 | Success",
			"2026-01-02T03:05:15.000Z | site | 127.0.0.1:8000 | 8000 | GET | /thread-hold | secs=5 | 200 | 5000 | 42 | Success",
			"2026-01-02T03:05:15.000Z | site | 127.0.0.1:8000 | 8000 | GET | /thread-hold | secs=5 | 200 | 5000 | 42 | Success",
			"2026-01-02T03:05:15.000Z | site | 127.0.0.1:8000 | 8000 | GET | /thread-hold | secs=5 | 200 | 5000 | 42 | Success",
			"2026-01-02T03:05:20.000Z | site | 127.0.0.1:8000 | 8000 | GET | /thread-hold | secs=5 | 200 | 10000 | 42 | Success",
			"2026-01-02T03:06:02.000Z | site | 127.0.0.1:8000 | 8000 | GET | /health | <nil> | <nil> | 2000 | 0 | Failure",
		},
		`SELECT TimeGenerated, Host, Level, SiteName, ResultDescription = Message FROM AppServiceConsoleLogs ORDER BY 1`: {
			"2026-01-02T03:05:02.000Z | local | Error | site | 1",
			"2026-01-02T03:05:03.000Z | local | Informational | site | 1",
			"2026-01-02T03:05:03.000Z | local | Informational | site | 1",
			"2026-01-02T03:05:05.000Z | local | Informational | site | 1",
		},
		`SELECT OperationName, Level FROM AppServicePlatformLogs ORDER BY TimeGenerated`: {
			"deployed | Informational", "healthy | Informational", "exited | Error", "restarted | Warning", "worker_exited | Error",
		},
	} {
		if got := ask(t, r, query); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", query, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

func TestQueryReadsOnly(t *testing.T) {
	dir := newFixture(t)
	r := open(t, dir)
	outside := filepath.Join(t.TempDir(), "outside.db")
	for _, text := range []string{
		"DELETE FROM probes",
		"INSERT INTO facts (name, value) VALUES ('a', 'b')",
		"UPDATE run SET status = 'done'",
		"DROP TABLE probes",
		"CREATE TABLE x (y)",
		"CREATE TEMP TABLE x (y)",
		"ATTACH '" + outside + "' AS o",
		"VACUUM INTO '" + outside + "'",
		"VACUUM",
		"PRAGMA query_only = 0",
		"PRAGMA journal_mode = DELETE",
		"PRAGMA user_version = 9",
		"BEGIN",
		"SELECT 1; DELETE FROM probes",
		"SELECT load_extension('x')",
		"WITH x AS (SELECT 1) DELETE FROM probes",
	} {
		_, _, err := r.Query(t.Context(), text)
		if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want a refusal", text, err)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a query wrote a file")
	}
	for text, want := range map[string]string{
		"":                      "a query must return rows: this one is empty or returns none",
		"-- nothing":            "a query must return rows: this one is empty or returns none",
		"SELECT * FROM nowhere": "no such table: nowhere",
		"SELEKT 1":              `near "SELEKT": syntax error`,
	} {
		if _, _, err := r.Query(t.Context(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	got := ask(t, r, "SELECT 1, 2.5, 'a', NULL, x'00ff' UNION ALL SELECT name, 0, 0, 0, 0 FROM pragma_table_info('facts')")
	equal(t, "values", got, []string{
		"1 | 2.5 | a | <nil> | [0 255]", "id | 0 | 0 | 0 | 0", "name | 0 | 0 | 0 | 0", "value | 0 | 0 | 0 | 0",
	})
	checkFixture(t, r)
}
