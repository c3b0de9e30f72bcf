package bench

import "fmt"

// memoryWorkloads show what an open snapshot costs.
func memoryWorkloads() []Workload {
	const reported = " Heap and versions are reported at the start, at their peak and at the end."
	w := Workload{
		Params:  Params{Keys: 1_000, ReadPct: Unset, Theta: Unset, ValueSize: words},
		minKeys: 1, maxKeys: manyKeys,
		audits: true, memory: true,
	}
	reader, none := w, w
	reader.Name, reader.kind = "long-reader", longReader
	reader.Doc = "Put to keys at random, while one snapshot, opened before the first, stays open " +
		"all " +
		"the time: every --audit-interval a few of its keys are read through it, and at the end all, " +
		"and must be as they were." + reported +
		" Its figures are to be compared with those of overwrite."
	none.Name, none.kind = "overwrite", overwrite
	none.Doc = "The same as long-reader without the snapshot. " +
		"Verified: each key holds somebody's last write at the end." + reported
	return []Workload{reader, none}
}

// newOverwriting returns a job that puts to keys at random.
func newOverwriting[V any](r *rigOf[V]) getPutJob[V] {
	return getPutJob[V]{observed[V]{rig: r, dist: newZipf(len(r.list), 0)}}
}

type overwriteJob[V any] struct{ getPutJob[V] }

func (j *overwriteJob[V]) auditor(Session[V]) (auditor, error) {
	return &memoryAuditor{census: j.rig.census}, nil
}

// memoryAuditor takes the census.
type memoryAuditor struct{ census *census }

func (a *memoryAuditor) do() error {
	a.census.sample()
	return nil
}

type longReaderJob[V any] struct {
	getPutJob[V]
	reader *readerAuditor[V]
}

func (j *longReaderJob[V]) verify() error {
	for k := range j.rig.list {
		if err := j.reader.read(k); err != nil {
			return err
		}
	}
	return j.getPutJob.verify()
}

// auditor opens the snapshot.
func (j *longReaderJob[V]) auditor(s Session[V]) (auditor, error) {
	pinner, ok := s.(Pinner[V])
	if !ok {
		return nil, errUnsupported
	}
	pin, err := pinner.Pin()
	if err != nil {
		return nil, err
	}
	j.rig.pin = pin
	j.reader = &readerAuditor[V]{
		memoryAuditor: memoryAuditor{census: j.rig.census},
		pin:           pin, keys: j.rig.list, values: newValues[V](j.rig.Trial, j.rig.config.Threads),
	}
	return j.reader, nil
}

// readerAuditor reads through a snapshot that was opened before the goroutines
// started, and checks that it shows what was there then. It also takes the census.
type readerAuditor[V any] struct {
	memoryAuditor
	pin    Pin[V]
	keys   []string
	values values[V]
	next   int
}

// readsOfAudit is the number of keys that an audit reads through the snapshot.
const readsOfAudit = 16

func (a *readerAuditor[V]) do() error {
	for range min(readsOfAudit, len(a.keys)) {
		if err := a.read(a.next); err != nil {
			return err
		}
		if a.next++; a.next == len(a.keys) {
			a.next = 0
		}
	}
	return a.memoryAuditor.do()
}

// read reads key k through the snapshot.
func (a *readerAuditor[V]) read(k int) error {
	v, ok, err := a.pin.Get(a.keys[k])
	if err != nil {
		return err
	}
	if !ok {
		return wrong(a.keys[k], "is absent in a snapshot that had it")
	}
	if s := a.values.stamp(v); s != loaded(k) {
		return wrongValue(a.keys[k], &a.values, v, true,
			fmt.Errorf("holds %s in a snapshot that was opened before that was written", describe(s)))
	}
	return nil
}
