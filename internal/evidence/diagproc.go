package evidence

import (
	"reflect"
	"strings"
	"time"
)

var zeroTime time.Time

// diagProcJSON reads /diag/proc of the references' apps: meminfo in kB, vmstat
// and pressure in the kernel's units, by the kernel's names.
func diagProcJSON(b *builder, f *file, v any) (string, bool) {
	meminfo, vmstat, pressure := objectAt(v, "meminfo"), objectAt(v, "vmstat"), objectAt(v, "pressure")
	if meminfo == nil && vmstat == nil || at(v, "kind") != nil {
		return "", false
	}
	r := Reading{Name: f.name, View: ViewMachine}
	if when, ok := parseTime(firstText(v.(object), "timestamp", "time", "at", "ts")); ok {
		r.At, r.AtFrom = when, Source{File: f.name, Field: "timestamp"}
	}
	fillObject(&r.Meminfo, f, meminfo, "meminfo", 1024, Bytes, asItIs)
	fillObject(&r.Vmstat, f, vmstat, "vmstat", 1, Pages, snake)
	for _, p := range []struct {
		name string
		dst  *Pressure
	}{{"memory", &r.PSI.Memory}, {"cpu", &r.PSI.CPU}, {"io", &r.PSI.IO}} {
		p.dst.Some = diagStall(f, pressure, p.name, "some")
		p.dst.Full = diagStall(f, pressure, p.name, "full")
	}
	r.View = judgeView(&r)
	b.c.Readings = append(b.c.Readings, r)
	if pid := jsonNumber(f, v, NoUnit, "", "self", "pid"); pid.Known {
		b.c.Processes = append(b.c.Processes, Process{PID: int(pid.Number), Name: "the app", From: Source{File: f.name, Field: "self"},
			RSS: jsonNumber(f, v, Bytes, "", "self", "rss_kb").Times(1024, Bytes)})
	}
	return "/diag/proc", true
}

// fillObject sets the Values of dst, as fill does, from an object with the
// kernel's names. What kernels split by zone is added up.
func fillObject(dst any, f *file, o object, place string, factor float64, unit Unit, name func(string) string) {
	to := reflect.ValueOf(dst).Elem()
	for i := range to.NumField() {
		field := to.Type().Field(i)
		keys, ok := field.Tag.Lookup("field")
		if !ok {
			keys = name(field.Name)
		}
		u, by := unit, factor
		if tag, ok := field.Tag.Lookup("unit"); ok {
			u, by = Unit(tag), 1
		}
		first, _, _ := strings.Cut(keys, "|")
		sum := Missing(Absent, "the file has no such field", Source{File: f.name, Field: place + "." + first})
		for key := range strings.SplitSeq(keys, "|") {
			for _, zone := range [...]string{"", "_dma", "_dma32", "_normal", "_high", "_movable", "_device"} {
				if v := jsonNumber(f, o, u, place, key+zone).Times(by, u); v.Known && sum.Known {
					sum = sum.Plus(v)
				} else if v.Known {
					sum = v
				}
			}
		}
		to.Field(i).Set(reflect.ValueOf(sum))
	}
}

func diagStall(f *file, pressure object, resource, kind string) Stall {
	place := "pressure." + resource + "." + kind
	value := func(field string, unit Unit) Value {
		return jsonNumber(f, pressure, unit, "pressure", resource, kind, field)
	}
	if at(pressure, resource, kind) == nil {
		v := Missing(Absent, "the file has no such field", Source{File: f.name, Field: place})
		return Stall{v, v, v, v}
	}
	return Stall{value("avg10", Percent), value("avg60", Percent), value("avg300", Percent), value("total", Micros)}
}
