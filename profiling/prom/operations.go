package prom

import (
	"iter"
)

// An Operation has the totals of one kind of operation since the program began.
type Operation struct {
	Name    string  // another for each
	Errors  uint64  // operations that failed
	Latency Latency // of all operations, also of failed ones
}

// A Latency has durations in nanoseconds, and how often there was each, in ascending order. A
// duration may stand for several that are about as long.
type Latency interface {
	All() iter.Seq2[int64, uint64]
}

// bounds are the upper ends of the buckets, from 1 µs to 50 s.
var bounds = func() (list []int64) {
	for decade := int64(1_000); decade <= 10_000_000_000; decade *= 10 {
		list = append(list, decade, 2*decade, 5*decade)
	}
	return list
}()

// writeOperations writes the metrics of operations. A histogram's buckets are wrong by less than
// a hundredth of their bounds.
func writeOperations(t *text, list []Operation) {
	const took, failed = "operation_duration_seconds", "operation_errors_total"
	for _, o := range list {
		t.head(took, "histogram", "What operations of the program took.")
		t.histogram(took, o)
	}
	for _, o := range list {
		t.head(failed, "counter", "Operations of the program that failed.")
		t.value(failed, float64(o.Errors), "operation", o.Name)
	}
}

// histogram writes the buckets, sum and count of one operation.
func (t *text) histogram(name string, o Operation) {
	var count uint64
	var sum float64
	i := 0
	bucket := func(le string) {
		t.value(name+"_bucket", float64(count), "operation", o.Name, "le", le)
	}
	upTo := func(ns int64) {
		for ; i < len(bounds) && bounds[i] < ns; i++ {
			bucket(textOf(float64(bounds[i]) / 1e9))
		}
	}
	for ns, n := range o.Latency.All() {
		upTo(ns)
		count += n
		sum += float64(ns) / 1e9 * float64(n)
	}
	upTo(bounds[len(bounds)-1] + 1)
	bucket("+Inf")
	t.value(name+"_sum", sum, "operation", o.Name)
	t.value(name+"_count", float64(count), "operation", o.Name)
}
