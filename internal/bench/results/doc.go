// Package results has the results of runs of mvccbench: a record of the configurations,
// the machine and the way of the measurement, the samples, and the end of the run.
//
// A [Run] is written and read as JSON, which keeps everything, percentile distributions included;
// [WriteBench] writes its figures for other programs, in the Go benchmark format. A [Shelf] has
// files of records. [Compare] compares two sets of results, and [Compete] the engines of one run,
// both as benchstat does. [Metrics] explains each figure.
//
// The package measures nothing and knows nothing of the workloads: it can read the
// results of a newer or older program.
package results
