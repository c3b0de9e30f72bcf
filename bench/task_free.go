package bench

// freeTask deletes the goroutine's keys, a batch in a transaction, and when all
// are gone puts them back. What it puts says how many rounds it has made, the
// same in all keys of a batch.
type freeTask[K comparable, V any] struct {
	batcher BatcherOf[K, V]
	values  values[V]
	keys    []K // the goroutine's
	base    int // index of the first of them
	writer  int
	size    int    // keys of a batch
	next    int    // the next batch
	round   uint64 // rounds begun: odd ones delete
	gone    []bool
	held    []stamp // by batch: the stamp of its keys but for the key's index
	ops     []OpOf[K, V]
	gaps    stream
	left    int // transactions until a batch is read back
}

// readBatchEvery is the number of transactions, on average, for each that is read
// back.
const readBatchEvery = 64

func newFreeBatch[K comparable, V any](b BatcherOf[K, V], list []K, i int, w Workload, values values[V], gaps stream) *freeTask[K, V] {
	size, batches := w.Params.TxnSize, w.batches()
	base := i * size * batches
	t := &freeTask[K, V]{
		batcher: b, values: values, keys: list[base : base+size*batches], base: base, writer: i + 1,
		size: size, round: 1, gone: make([]bool, batches), held: make([]stamp, batches),
		ops: make([]OpOf[K, V], size), gaps: gaps,
	}
	for b := range t.held {
		t.held[b] = loaded(0)
	}
	return t
}

func (t *freeTask[K, V]) do() error {
	b := t.next
	deletes := t.round%2 == 1
	s := makeStamp(t.writer, 0, t.round)
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
		t.held[b] = s
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
func (t *freeTask[K, V]) readBack(b int) error {
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
func (t *freeTask[K, V]) checkLeft(k int, v stamp, ok bool) error {
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

// freeing is a task that knows which of its keys there are.
type freeing interface {
	checkLeft(k int, v stamp, ok bool) error
}
