package bench

// ownKeyWorkloads put to keys that no other goroutine writes.
func ownKeyWorkloads() []Workload {
	params := Params{Keys: Unset, ReadPct: Unset, Theta: Unset, ValueSize: words}
	return []Workload{
		{
			Name: "disjoint",
			Doc: "Each goroutine puts to a key of its own. One put in 256 is read back, " +
				"which is not counted, and at the end the key must hold the last.",
			Params: params,
			kind:   disjoint,
			owned:  true, operation: putOperation,
		},
		{
			Name: "disjoint-batch",
			Doc: "Each goroutine puts to a key of its own, gets it and asks whether it is there, in one " +
				"transaction. It must read what it has just put, and at the end the key must hold the last.",
			Params: params,
			kind:   disjointBatch,
			owned:  true, multiKey: true, operation: batchOperation,
		},
	}
}

// owned is what the jobs have in common in which each goroutine has one key.
type owned[V any] struct {
	rig *rigOf[V]
	all []*own // by key
}

func (o *owned[V]) first(k int) stamp { return loaded(k) }

// begin begins the record of goroutine i.
func (o *owned[V]) begin(i int, record *own) {
	*record = own{index: i, writer: i + 1, last: loaded(i)}
	o.all = append(o.all, record)
}

func (o *owned[V]) verify() error {
	return o.rig.each(func(k int, v stamp, ok bool) error {
		return o.all[k].check(o.rig.name(k), v, ok)
	})
}

// own is a goroutine's record of a key that nobody else writes.
type own struct {
	index  int
	writer int
	seq    uint64
	last   stamp // the last committed
}

// next returns the stamp to write next. One that was not committed is not used
// again.
func (o *own) next() stamp {
	o.seq++
	return makeStamp(o.writer, o.index, o.seq)
}

// check checks what the key was found to hold.
func (o *own) check(key string, v stamp, ok bool) error {
	if !ok {
		return wrong(key, "is absent")
	}
	if v != o.last {
		return wrong(key, "holds %s, but its only writer last wrote %s", describe(v), describe(o.last))
	}
	return nil
}

type disjointJob[V any] struct{ owned[V] }

func (j *disjointJob[V]) task(i int, s Session[V]) task {
	t := &disjointTask[V]{
		session: s, key: j.rig.list[i], values: newValues[V](j.rig.Trial, i),
		gaps: j.rig.streamFor(i, forPick),
	}
	j.begin(i, &t.own)
	return t
}

// disjointTask puts to the goroutine's own key.
type disjointTask[V any] struct {
	own
	session Session[V]
	key     string
	values  values[V]
	gaps    stream
	left    int // puts until the key is read back
}

// readBackEvery is the number of puts, on average, for each time that the own key
// is read back. It costs less than half a percent of the time, and it finds an
// engine that now and then loses a write.
const readBackEvery = 256

func (t *disjointTask[V]) do() error {
	s := t.next()
	var v V
	t.values.set(&v, s)
	if err := t.session.Put(t.key, v); err != nil {
		return err
	}
	t.last = s
	if t.left--; t.left < 0 {
		t.left = t.gaps.below(2*readBackEvery - 1)
		return t.readBack()
	}
	return nil
}

func (t *disjointTask[V]) readBack() error {
	v, ok, err := t.session.Get(t.key)
	if err != nil {
		return err
	}
	if s := t.values.stamp(v); !ok || s != t.last {
		return wrongValue(t.key, &t.values, v, ok, t.check("", s, ok))
	}
	return nil
}

type ownBatchJob[V any] struct{ owned[V] }

func (j *ownBatchJob[V]) task(i int, s Session[V]) task {
	batcher, ok := s.(Batcher[V])
	if !ok {
		return nil
	}
	t := &ownBatch[V]{batcher: batcher, key: j.rig.list[i], values: newValues[V](j.rig.Trial, i)}
	j.begin(i, &t.own)
	for n, kind := range []OpKind{OpPut, OpGet, OpHas} {
		t.ops[n] = Op[V]{Kind: kind, Key: t.key}
	}
	return t
}

// ownBatch puts to the goroutine's own key, reads it and asks for it, in one
// transaction.
type ownBatch[V any] struct {
	own
	batcher Batcher[V]
	key     string
	values  values[V]
	ops     [3]Op[V]
}

func (t *ownBatch[V]) do() error {
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
		return wrong(t.key, "is absent in the transaction that wrote it")
	}
	return nil
}
