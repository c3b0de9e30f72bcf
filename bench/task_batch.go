package bench

// ownBatch puts to the goroutine's own key, reads it and asks for it, in one
// transaction.
type ownBatch[K comparable, V any] struct {
	own
	batcher BatcherOf[K, V]
	key     K
	values  values[V]
	ops     [3]OpOf[K, V]
}

func newOwnBatch[K comparable, V any](b BatcherOf[K, V], key K, i int, values values[V]) *ownBatch[K, V] {
	t := &ownBatch[K, V]{
		own:     own{index: i, writer: i + 1, last: loaded(i)},
		batcher: b, key: key, values: values,
	}
	for n, kind := range []OpKind{OpPut, OpGet, OpHas} {
		t.ops[n] = OpOf[K, V]{Kind: kind, Key: key}
	}
	return t
}

func (t *ownBatch[K, V]) do() error {
	s := t.next()
	t.values.set(&t.ops[0].Value, s)
	t.ops[1].OK, t.ops[2].OK = false, false
	if err := t.batcher.Batch(t.ops[:], false); err != nil {
		return err
	}
	t.last = s
	get, has := &t.ops[1], &t.ops[2]
	if v := t.values.stamp(get.Old); !get.OK || v != s {
		return wrongValue(t.key, &t.values, get.Old, get.OK,
			wrong("", "a transaction that wrote %s read %s, %t", describe(s), describe(v), get.OK))
	}
	if !has.OK {
		return wrong(keyName(t.key), "is absent in the transaction that wrote it")
	}
	return nil
}

// ycsbTask reads and writes several keys in one transaction.
type ycsbTask[K comparable, V any] struct {
	batcher BatcherOf[K, V]
	keys    []K
	values  values[V]
	seen    *observer
	reads   uint64 // an operation reads if its random 32 bits are below
	write   OpKind // what it does otherwise
	coin    stream
	pick    stream
	dist    *zipf
	ops     []OpOf[K, V]
	index   []int // of the keys of ops
	label   labeller
}

func (t *ycsbTask[K, V]) do() error {
	before := t.seen.seq
	readOnly := true
	for i := range t.ops {
		k := t.dist.draw(&t.pick)
		op := &t.ops[i]
		t.index[i], op.Key, op.OK = k, t.keys[k], false
		if t.coin.next()>>32 < t.reads {
			op.Kind = OpGet
			continue
		}
		op.Kind, readOnly = t.write, false
		t.values.set(&op.Value, t.seen.draw(k))
	}
	if readOnly {
		t.label.gets()
	} else {
		t.label.puts()
	}
	if err := t.batcher.Batch(t.ops, readOnly); err != nil {
		return err
	}
	for i := range t.ops {
		if err := t.check(&t.ops[i], t.index[i], before); err != nil {
			return err
		}
	}
	return nil
}

// check checks what op, of the transaction whose writes are those after before,
// has read of key k, and records what it has written. It is called in the order
// of the operations.
func (t *ycsbTask[K, V]) check(op *OpOf[K, V], k int, before uint64) error {
	if op.Kind != OpPut {
		v := t.values.stamp(op.Old)
		last := t.seen.last[k]
		err := t.seen.got(k, v, op.OK)
		if err == nil && v != last && stampWriter(last) == t.seen.writer && stampSeq(last) > before {
			err = wrong("", "a transaction that wrote %s read %s", describe(last), describe(v))
		}
		if err != nil {
			return wrongValue(op.Key, &t.values, op.Old, op.OK, err)
		}
	}
	if op.Kind != OpGet {
		t.seen.put(k, t.values.stamp(op.Value))
	}
	return nil
}

func (t *ycsbTask[K, V]) observed() *observer { return t.seen }
func (t *ycsbTask[K, V]) labels() *labeller   { return &t.label }
