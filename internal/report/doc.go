// Package report draws charts of a run: for each workload throughput, latency and
// allocations against the number of goroutines, by engine, and against whatever
// parameter was swept. The charts are SVG files; a page has all of them in one
// file, which needs nothing else. Both follow the light or dark theme of who
// looks at them.
package report
