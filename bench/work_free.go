package bench

import "fmt"

func freeBatchWorkloads() []Workload {
	return []Workload{{
		Name: "free-batch",
		Doc: "Each goroutine has --keys keys of its own, in batches of --txn-size: a transaction " +
			"deletes a batch, and when all are gone one puts a batch back, and so on. Meanwhile an " +
			"auditor looks at a batch at a time, every --audit-interval, and finds it whole or gone; " +
			"one transaction in 64 is read back by its goroutine, which is not counted. At the end " +
			"each key must be there or not as its last transaction left it.",
		Params: Params{
			Keys: 10_000, ReadPct: Unset, Theta: Unset,
			TxnSize: 1_000, ValueSize: words,
		},
		kind:    freeBatch,
		minKeys: 1, maxKeys: manyKeys,
		owned: true, multiKey: true, audits: true, operation: batchOperation,
	}}
}

type freeJob[V any] struct {
	rig *rigOf[V]
	all []*freeTask[V]
}

func (j *freeJob[V]) first(k int) stamp { return loaded(k) }

func (j *freeJob[V]) task(i int, s Session[V]) task {
	batcher, ok := s.(Batcher[V])
	if !ok {
		return nil
	}
	w := j.rig.config.Workload
	n := w.ownKeys()
	batches := n / w.Params.TxnSize
	t := &freeTask[V]{
		batcher: batcher, values: newValues[V](j.rig.Trial, i),
		keys: j.rig.list[i*n : (i+1)*n], base: i * n, writer: i + 1,
		size: w.Params.TxnSize, round: 1, gone: make([]bool, batches), held: make([]stamp, batches),
		ops: make([]Op[V], w.Params.TxnSize), gaps: j.rig.streamFor(i, forPick),
	}
	for b := range t.held {
		t.held[b] = loaded(0)
	}
	j.all = append(j.all, t)
	return t
}

func (j *freeJob[V]) verify() error {
	n := j.rig.config.Workload.ownKeys()
	return j.rig.each(func(k int, v stamp, ok bool) error {
		if err := j.all[k/n].checkLeft(k, v, ok); err != nil {
			return &violation{key: j.rig.name(k), detail: err.Error()}
		}
		return nil
	})
}

// freeTask deletes the goroutine's keys, a batch in a transaction, and when all
// are gone puts them back. What it puts says how many rounds it has made, the
// same in all keys of a batch.
type freeTask[V any] struct {
	batcher Batcher[V]
	values  values[V]
	keys    []string // the goroutine's
	base    int      // index of the first of them
	writer  int
	size    int    // keys of a batch
	next    int    // the next batch
	round   uint64 // rounds begun: odd ones delete
	gone    []bool
	held    []stamp // by batch: the stamp of its keys but for the key's index
	ops     []Op[V]
	gaps    stream
	left    int // transactions until a batch is read back
}

// readBatchEvery is the number of transactions, on average, for each that is read
// back.
const readBatchEvery = 64

func (t *freeTask[V]) do() error {
	b := t.next
	deletes := t.round%2 == 1
	for i := range t.ops {
		k := b*t.size + i
		op := &t.ops[i]
		op.Key = t.keys[k]
		if deletes {
			op.Kind = OpDelete
			continue
		}
		op.Kind = OpPut
		t.values.set(&op.Value, makeStamp(t.writer, t.base+k, t.round))
	}
	if err := t.batcher.Batch(t.ops, false); err != nil {
		return err
	}
	t.gone[b] = deletes
	if !deletes {
		t.held[b] = makeStamp(t.writer, 0, t.round)
	}
	if t.next++; t.next == len(t.gone) {
		t.next = 0
		t.round++
	}
	if t.left--; t.left < 0 {
		t.left = t.gaps.below(2*readBatchEvery - 1)
		return t.readBack(b)
	}
	return nil
}

// readBack reads batch b, and checks that it is as it was left.
func (t *freeTask[V]) readBack(b int) error {
	for i := range t.ops {
		t.ops[i].Kind, t.ops[i].Key, t.ops[i].OK = OpGet, t.keys[b*t.size+i], false
	}
	if err := t.batcher.Batch(t.ops, true); err != nil {
		return err
	}
	for i := range t.ops {
		op := &t.ops[i]
		var v stamp
		if op.OK {
			v = t.values.stamp(op.Old)
		}
		if err := t.checkLeft(t.base+b*t.size+i, v, op.OK); err != nil {
			return wrongValue(op.Key, &t.values, op.Old, op.OK, err)
		}
	}
	return nil
}

// checkLeft checks that v, ok is what the last transaction left of the key with
// index k.
func (t *freeTask[V]) checkLeft(k int, v stamp, ok bool) error {
	b := (k - t.base) / t.size
	held := makeStamp(stampWriter(t.held[b]), k, stampSeq(t.held[b]))
	switch {
	case t.gone[b] && ok:
		return wrong("", "holds %s, but its only writer has deleted it", describe(v))
	case !t.gone[b] && !ok:
		return wrong("", "is absent, but its only writer has put %s", describe(held))
	case ok && v != held:
		return wrong("", "holds %s, but its only writer last put %s", describe(v), describe(held))
	}
	return nil
}

func (j *freeJob[V]) auditor(s Session[V]) (auditor, error) {
	batcher, ok := s.(Batcher[V])
	if !ok {
		return nil, errUnsupported
	}
	w, i := j.rig.config.Workload, j.rig.config.Threads
	return &batchAuditor[V]{
		batcher: batcher, keys: j.rig.list, values: newValues[V](j.rig.Trial, i),
		pick: j.rig.streamFor(i, forPick),
		ops:  make([]Op[V], w.Params.TxnSize),
		seen: make([]stamp, len(j.rig.list)/w.Params.TxnSize), perWriter: w.ownKeys() / w.Params.TxnSize,
	}, nil
}

// batchAuditor checks that a batch of free-batch, picked at random, is there as a
// whole or not at all, and not older than it has been.
type batchAuditor[V any] struct {
	batcher   Batcher[V]
	keys      []string
	values    values[V]
	pick      stream
	ops       []Op[V]
	seen      []stamp // by batch: the last that was found in it
	perWriter int     // batches of each goroutine
}

func (a *batchAuditor[V]) do() error {
	n := len(a.ops)
	b := a.pick.below(len(a.seen))
	for i := range a.ops {
		a.ops[i] = Op[V]{Kind: OpGet, Key: a.keys[b*n+i]}
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
				return wrongValue(op.Key, &a.values, op.Old, true,
					fmt.Errorf("holds %s, which was not put there", describe(v)))
			}
		}
		round := makeStamp(stampWriter(v), 0, stampSeq(v))
		if i == 0 {
			first = round
			continue
		}
		if op.OK != a.ops[0].OK || round != first {
			return wrong(op.Key, "gives %s, %t, while %s of the same transaction gives %s, %t",
				describe(v), op.OK, a.ops[0].Key, describe(first), a.ops[0].OK)
		}
	}
	if a.ops[0].OK {
		if stampSeq(first) < stampSeq(a.seen[b]) {
			return wrong(a.ops[0].Key, "holds %s again, after %s",
				describe(first), describe(a.seen[b]))
		}
		a.seen[b] = first
	}
	return nil
}
