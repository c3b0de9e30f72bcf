package bench

import (
	"slices"
	"time"
)

// To add a workload, write a file like those that begin with work_: what is listed, the
// job, the task and what is verified; and name the job here.

// kind says which [job] a workload has.
type kind int

const (
	getPut kind = iota
	disjoint
	disjointBatch
	freeBatch
	transfer
	counter
	crowd
	begin
	longReader
	overwrite
	rangeRead
	rangeAudit
	orders
	plain  // of a file: one table
	script // of a file
	replay // of a trace
	watched
	journaled
	expiring
)

// newJob returns the job of the workload that r is for, nil if that is in newNumberJob.
func newJob[V any](r *rigOf[V]) job[V] {
	switch r.config.Workload.kind {
	case getPut:
		return &getPutJob[V]{newObserved(r)}
	case plain:
		return newPlain(r)
	case replay:
		return newReplay(r)
	case disjoint:
		return &disjointJob[V]{owned[V]{rig: r}}
	case disjointBatch:
		return &ownBatchJob[V]{owned[V]{rig: r}}
	case freeBatch:
		return &freeJob[V]{rig: r}
	case longReader:
		return &longReaderJob[V]{getPutJob: newOverwriting(r)}
	case overwrite:
		return &overwriteJob[V]{newOverwriting(r)}
	case expiring:
		return newExpiring(r)
	case rangeRead:
		return &rangeReadJob[V]{observed: newObserved(r)}
	}
	return nil
}

// newNumberJob returns the job of a workload that computes with the values, which are numbers, or
// does not look at them.
func newNumberJob(r *rigOf[uint64]) job[uint64] {
	accounts := added{rig: r, opening: openingBalance}
	switch r.config.Workload.kind {
	case begin:
		return beginJob{r}
	case counter, crowd:
		return &counterJob{added{rig: r}}
	case watched:
		return &watchedJob{transferJob: transferJob{accounts}, patience: time.Minute}
	case journaled:
		return &journaledJob{transferJob: transferJob{accounts}}
	case rangeAudit:
		return &rangeAuditJob{accounts}
	}
	return &transferJob{accounts}
}

// Workloads returns the built-in workloads, in the order in which they are
// listed.
func Workloads() []Workload {
	return slices.Concat(getPutWorkloads(), ownKeyWorkloads(), freeBatchWorkloads(),
		transferWorkloads(), watchedWorkloads(), journaledWorkloads(), expiringWorkloads(),
		rangeWorkloads(), orderWorkloads(), counterWorkloads(), beginWorkloads(), memoryWorkloads(), fileWorkloads())
}

// WorkloadByName returns the built-in workload called name.
func WorkloadByName(name string) (Workload, bool) {
	all := Workloads()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return all[i], true
}

// A job is a workload at work in one trial: what the goroutines do, and what must be
// true when they have ended.
type job[V any] interface {
	// first returns the number or stamp that key k has at first.
	first(k int) stamp
	// task returns what goroutine i does, with its session s; nil if s lacks a method.
	task(i int, s Session[V]) task
	// verify checks what the goroutines have left behind.
	verify() error
}

// An audited job has something done beside the goroutines.
type audited[V any] interface {
	auditor(s Session[V]) (auditor, error)
}

// A task is what one goroutine does over and over, with the record it keeps for
// verification. Tasks are made before the goroutines start and hold everything
// they need: do allocates nothing but byte slices to put, unless it fails.
type task interface {
	// do performs one operation. Errors are violations, ErrStopped,
	// ErrGaveUp, or failures of the engine.
	do() error
}

// An auditor is what is done, again and again, beside the goroutines, to see what
// they do not look at.
type auditor interface {
	// do makes one audit. Errors are as those of a task.
	do() error
}

// What a random stream is for. Each goroutine has one for each of them, so that
// no choice follows from another.
const (
	forStart = iota
	forCoin
	forPick
	forAmount
	forGaps
	forArrivals
	forSizes
)

// streamFor returns the stream of random numbers with which goroutine worker
// makes one kind of choice.
func (t *Trial) streamFor(worker, purpose int) stream {
	return newStream(t.config.Seed, uint64(t.config.Sample), uint64(worker), uint64(purpose))
}
