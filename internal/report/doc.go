// Package report draws charts of a run: for each workload throughput, latency and allocations
// against the number of goroutines, by engine, and against whatever parameter was swept. All of
// them are one page, a file that needs nothing else. It has the figures as tables, too.
package report
