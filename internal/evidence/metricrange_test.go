package evidence

import (
	"slices"
	"strings"
	"testing"
)

// A share of memory or of the CPUs is 0 to 100 % (the metrics' own definition in
// https://learn.microsoft.com/azure/azure-monitor/reference/supported-metrics/microsoft-web-serverfarms-metrics),
// and times, amounts and counts are not negative. What is not so is no value of
// that metric, and neither are those beside it.
func TestValuesThatAMetricCannotHaveAreRefused(t *testing.T) {
	az := func(metric, unit, of, values string) string {
		var points []string
		for i, v := range strings.Split(values, " ") {
			points = append(points, `{"timeStamp":"2026-01-01T00:0`+string(rune('0'+i))+`:00Z","`+of+`":`+v+`}`)
		}
		return `{"value":[{"name":{"value":"` + metric + `"},"unit":"` + unit + `","timeseries":[{"data":[` + strings.Join(points, ",") + `]}]}]}`
	}
	for _, c := range []struct{ name, file, text, want string }{
		{"above", "m.json", az("MemoryPercentage", "Percent", "average", "70 140 71"),
			"MemoryPercentage can be 0 to 100 %, and 1 of its 3 values are not, such as 140: none of them is judged"},
		{"below", "m.json", az("MemoryPercentage", "Percent", "minimum", "-5 60"),
			"MemoryPercentage can be 0 to 100 %, and 1 of its 2 values are not, such as -5: none of them is judged"},
		{"CPU", "m.json", az("CpuPercentage", "Percent", "average", "3000"),
			"CpuPercentage can be 0 to 100 %, and 1 of its 1 values are not, such as 3000: none of them is judged"},
		{"bytes", "m.json", az("MemoryWorkingSet", "Bytes", "average", "-1 4096"),
			"MemoryWorkingSet can be 0 and more, and 1 of its 2 values are not, such as -1: none of them is judged"},
		{"a chart", "m.csv", "Time,Memory Percentage (Avg)\n2026-04-01T10:00:00Z,93\n2026-04-01T10:01:00Z,140.5\n",
			"MemoryPercentage can be 0 to 100 %, and 1 of its 2 values are not, such as 140.5 in line 3: none of them is judged"},
		{"AzureMetrics", "m.csv", "TimeGenerated,MetricName,Average,UnitName,Resource\n2026-04-01T10:00:00Z,CpuPercentage,3000,Percent,PLAN-RED\n",
			"CpuPercentage of PLAN-RED can be 0 to 100 %, and 1 of its 1 values are not, such as 3000 in line 2: none of them is judged"},
		{"steps", "m.csv", "apps,mem_pct,cold_start_ms\n4,84.9,18100\n5,140,19000\n",
			"MemoryPercentage can be 0 to 100 %, and 1 of its 2 values are not, such as 140 in line 3: none of them is judged"},
		{"a sum of shares", "m.json", az("MemoryPercentage", "Percent", "total", "140 140"), ""},
		{"a rounded 100", "m.json", az("CpuPercentage", "Percent", "average", "100.2 99"), ""},
		{"an amount", "m.json", az("MemoryWorkingSet", "Bytes", "average", "0 4096"), ""},
		{"what nobody knows", "m.json", az("Drift", "Count", "average", "-40"), ""},
	} {
		got := readFiles(t, map[string]string{c.file: c.text})
		why := ""
		for _, s := range got.Strangers {
			why += s.Why
		}
		if why != c.want {
			t.Errorf("%s: %q, want %q", c.name, why, c.want)
		}
		judged := len(got.Series) > 0
		for i := range got.Tables {
			judged = judged || got.Tables[i].Value(0, "MemoryPercentage").Known
		}
		if judged != (c.want == "") {
			t.Errorf("%s: judged is %v", c.name, judged)
		}
	}
}

func TestASeriesWithoutANumberIsNone(t *testing.T) {
	c := readFiles(t, map[string]string{"m.json": `{"value":[{"name":{"value":"MemoryPercentage"},"unit":"Percent","timeseries":[{"data":[{"timeStamp":"2026-02-03T08:00:00Z","average":"ninety"}]}]}]}`})
	if len(c.Series) != 0 {
		t.Errorf("%+v is judged", c.Series)
	}
	i := slices.IndexFunc(c.Gaps, func(g Gap) bool { return g.What == HasMetrics })
	if i < 0 || c.Gaps[i].Detail != "MemoryPercentage has no value that is a number" {
		t.Errorf("the gaps are %+v", c.Gaps)
	}
}
