package prom

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// started is when the process began, but for the first milliseconds.
var started = time.Now()

// writeProcess writes the metrics of the process, under the names that all clients of
// Prometheus give them. All but one are read from /proc, and left out where there is none.
func writeProcess(t *text) {
	t.one("process_start_time_seconds", "Unix time at which the process began.",
		float64(started.UnixNano())/1e9)
	stat, _ := os.ReadFile("/proc/self/stat")
	// The second field is the name of the program, which may hold anything.
	if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 21 {
		field := func(n int) float64 { return number(string(fields[n-3])) }
		t.one("process_cpu_seconds_total",
			"Processor time, of the program and of the system for it.",
			(field(14)+field(15))/100) // what Linux calls a tick is a hundredth of a second
		t.one("process_virtual_memory_bytes", "Virtual memory.", field(23))
		t.one("process_resident_memory_bytes", "Resident memory.",
			field(24)*float64(os.Getpagesize()))
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		t.one("process_open_fds", "Open file descriptors.", float64(len(files)))
	}
	limits, _ := os.ReadFile("/proc/self/limits")
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max open files "); ok {
			t.one("process_max_fds", "Most open file descriptors.", number(rest))
		}
		if rest, ok := strings.CutPrefix(line, "Max address space "); ok {
			t.one("process_virtual_memory_max_bytes", "Most virtual memory.", number(rest))
		}
	}
}

// number returns the number that s begins with, or the largest one, for no limit.
func number(s string) float64 {
	first, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	v, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return float64(v)
}
