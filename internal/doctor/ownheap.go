package doctor

import (
	"strings"

	"brink/internal/evidence"
)

// ownArea is a part of a runtime's memory with a limit that the runtime was given.
type ownArea struct{ name, cause, now string }

var (
	heapArea = ownArea{"its own heap",
		"The heap grew to what the runtime was given (--max-old-space-size, -Xmx), which is not the machine's or the container's limit.",
		"Take a heap snapshot before it ends (--heapsnapshot-near-heap-limit, -XX:+HeapDumpOnOutOfMemoryError)."}
	classArea = ownArea{"its memory for classes (Metaspace)",
		"The classes that are loaded fill what -XX:MaxMetaspaceSize or -XX:CompressedClassSpaceSize allows. It is no heap: -Xmx does not change it. Class loaders that are never freed are the usual reason.",
		"See which class loaders grow (jcmd PID VM.classloader_stats)."}
	directArea = ownArea{"its direct buffers",
		"Buffers outside the heap fill what -XX:MaxDirectMemorySize allows, which is as much as -Xmx unless it is set. The heap itself may be small.",
		"See who holds direct buffers (jcmd PID VM.native_memory, the metrics of the client or server library that makes them)."}
)

// areaOf tells by a runtime's words what was full; ok is false where its own limits
// have no part in it: Java calls a thread or a mapping that the kernel refuses an
// OutOfMemoryError too.
//
// https://docs.oracle.com/en/java/javase/21/troubleshoot/troubleshooting-memory-leaks.html
func areaOf(e *evidence.Event) (area ownArea, ok bool) {
	switch text := e.Text; {
	case e.Reason == "JavaScript heap out of memory":
		return heapArea, true
	case e.Reason != "java.lang.OutOfMemoryError", noThreads().MatchString(text), ofKernel(text):
		return ownArea{}, false
	case strings.Contains(text, "Metaspace"), strings.Contains(text, "Compressed class space"):
		return classArea, true
	case strings.Contains(text, "irect buffer memory"):
		return directArea, true
	}
	return heapArea, true
}

// ofKernel reports whether Java tells of memory that the kernel refused it.
func ofKernel(text string) bool {
	return strings.Contains(text, "Out of swap space?") || strings.Contains(text, "Map failed")
}

// ownHeap judges a runtime that reached the limit of its own heap, or of another part
// of its memory, and ended.
func ownHeap(l *look) *Finding {
	var full []*evidence.Event
	var area ownArea
	for _, e := range l.EventsOf(evidence.AppError) {
		if in, ok := areaOf(e); ok {
			full, area = append(full, e), in
		}
	}
	if len(full) == 0 {
		return nil
	}
	f := &Finding{Subject: full[0].App}
	f.What = "The program reached the limit of " + area.name + " (" + full[len(full)-1].Reason + ") in " + f.count("lines", countOf(full), "line") + " and fails or ends for it."
	f.between(stretch(full))
	f.level(Observed, "the runtime's own log says so")
	f.Cause = area.cause
	f.not("the kernel's OOM killer", "that leaves no line of the program; here the runtime speaks itself")
	f.Now = []string{area.now}
	f.Properly = []string{"Find what grows. A larger limit helps only if that much is meant to be in use, and must fit into the container beside the rest."}
	f.Settle = []string{"The same figure over a day: a line that rises is a leak."}
	return f
}
