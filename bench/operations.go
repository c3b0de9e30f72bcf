package bench

// operationCounts says which of several operations a task does, and counts them. A task that has
// only one has no counts.
type operationCounts struct {
	now  int
	done []uint64 // that have committed, in the run
}

// count counts an operation that has committed.
func (c *operationCounts) count() {
	if c.now < len(c.done) {
		c.done[c.now]++
	}
}

// An assorted task does operations of several kinds.
type assorted interface{ operations() *operationCounts }

// An OperationMeasurement is what one kind of operation took, of a workload that has several.
type OperationMeasurement struct {
	Name string
	Ops  uint64 // that have committed
	// As those of all in a [Measurement].
	Service, Response Distribution
}
