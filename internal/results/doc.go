// Package results is what a run of mvccbench leaves behind: a record of what was
// measured on what machine and how, the samples, and how it ended.
//
// A [Run] is written and read as JSON, which keeps everything, percentile
// distributions included; [WriteBench] writes its figures for other programs, in the Go benchmark
// format.
// A [Shelf] has files of records. [Compare] compares two sets of results, as
// benchstat does, and [Compete] likewise the engines of one run. [Metrics] says what
// each figure means.
//
// The package measures nothing and knows nothing of the workloads: it can read
// what a newer or older program has measured.
package results
