package bench

import "fmt"

// An auditor is what is done, again and again, beside the goroutines, to see what
// they do not look at.
type auditor interface {
	// do makes one audit. Errors are as those of a task.
	do() error
}

func (r *rigOf[K, V]) auditor() (auditor, error) {
	s := r.engine.Session(r.config.Threads)
	switch r.config.Workload.kind {
	case transfer:
		if tr, ok := s.(TransfererOf[K]); ok {
			return &sumAuditor[K]{transfer: tr, keys: len(r.list)}, nil
		}
	case freeBatch:
		if b, ok := s.(BatcherOf[K, V]); ok {
			w := r.config.Workload
			return &batchAuditor[K, V]{
				batcher: b, keys: r.list, values: newValues[V](r.Trial, r.config.Threads),
				pick: r.streamFor(r.config.Threads, forPick),
				ops:  make([]OpOf[K, V], w.Params.TxnSize),
				seen: make([]stamp, len(r.list)/w.Params.TxnSize), perWriter: w.batches(),
			}, nil
		}
	case longReader:
		if p, ok := s.(PinnerOf[K, V]); ok {
			return r.openReader(p)
		}
	case overwrite:
		return &memoryAuditor{census: r.census}, nil
	}
	return nil, r.failed(errUnsupported)
}

// sumAuditor checks the sum of all accounts, as of one moment.
type sumAuditor[K comparable] struct {
	transfer TransfererOf[K]
	keys     int
	audits   uint64
}

func (a *sumAuditor[K]) do() error {
	a.audits++
	total, n, err := a.transfer.Sum()
	if err != nil {
		return err
	}
	if n != a.keys {
		return wrong("", "audit %d counted %d accounts instead of %d", a.audits, n, a.keys)
	}
	if want := uint64(a.keys) * openingBalance; total != want {
		return wrong("", "audit %d found a total of %d instead of %d", a.audits, int64(total), want)
	}
	return nil
}

// batchAuditor checks that a batch of free-batch, picked at random, is there as a
// whole or not at all, and not older than it has been.
type batchAuditor[K comparable, V any] struct {
	batcher   BatcherOf[K, V]
	keys      []K
	values    values[V]
	pick      stream
	ops       []OpOf[K, V]
	seen      []stamp // by batch: the last that was found in it
	perWriter int     // batches of each goroutine
}

func (a *batchAuditor[K, V]) do() error {
	n := len(a.ops)
	b := a.pick.below(len(a.seen))
	for i := range a.ops {
		a.ops[i] = OpOf[K, V]{Kind: OpGet, Key: a.keys[b*n+i]}
	}
	if err := a.batcher.Batch(a.ops, true); err != nil {
		return err
	}
	var first stamp
	for i := range a.ops {
		op := &a.ops[i]
		k := b*n + i
		var v stamp
		if op.OK {
			v = a.values.stamp(op.Old)
			if !keyMatches(v, k) || stampWriter(v) != 0 && stampWriter(v) != 1+b/a.perWriter {
				return wrongValue(op.Key, &a.values, op.Old, true, fmt.Errorf("holds %s, which was not put there", describe(v)))
			}
		}
		round := makeStamp(stampWriter(v), 0, stampSeq(v))
		if i == 0 {
			first = round
			continue
		}
		if op.OK != a.ops[0].OK || round != first {
			return wrong(keyName(op.Key), "gives %s, %t, while %s of the same transaction gives %s, %t",
				describe(v), op.OK, keyName(a.ops[0].Key), describe(first), a.ops[0].OK)
		}
	}
	if a.ops[0].OK {
		if stampSeq(first) < stampSeq(a.seen[b]) {
			return wrong(keyName(a.ops[0].Key), "holds %s again, after %s", describe(first), describe(a.seen[b]))
		}
		a.seen[b] = first
	}
	return nil
}

// readerAuditor reads through a snapshot that was opened before the goroutines
// started, and checks that it shows what was there then. It also takes the census.
type readerAuditor[K comparable, V any] struct {
	memoryAuditor
	pin    PinOf[K, V]
	keys   []K
	values values[V]
	next   int
}

// openReader opens the snapshot.
func (r *rigOf[K, V]) openReader(p PinnerOf[K, V]) (auditor, error) {
	pin, err := p.Pin()
	if err != nil {
		return nil, r.failed(err)
	}
	r.pin = pin
	return &readerAuditor[K, V]{
		memoryAuditor: memoryAuditor{census: r.census},
		pin:           pin, keys: r.list, values: newValues[V](r.Trial, r.config.Threads),
	}, nil
}

// readsOfAudit is the number of keys that an audit reads through the snapshot.
const readsOfAudit = 16

func (a *readerAuditor[K, V]) do() error {
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
func (a *readerAuditor[K, V]) read(k int) error {
	v, ok, err := a.pin.Get(a.keys[k])
	if err != nil {
		return err
	}
	if !ok {
		return wrong(keyName(a.keys[k]), "is absent in a snapshot that had it")
	}
	if s := a.values.stamp(v); s != loaded(k) {
		return wrongValue(a.keys[k], &a.values, v, true,
			fmt.Errorf("holds %s in a snapshot that was opened before that was written", describe(s)))
	}
	return nil
}

// readAll reads every key through the snapshot.
func (a *readerAuditor[K, V]) readAll() error {
	for k := range a.keys {
		if err := a.read(k); err != nil {
			return err
		}
	}
	return nil
}

// memoryAuditor takes the census.
type memoryAuditor struct{ census *census }

func (a *memoryAuditor) do() error {
	a.census.sample()
	return nil
}
