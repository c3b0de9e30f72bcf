package bench

import "fmt"

// ycsbWorkloads are the core workloads of the Yahoo! Cloud Serving Benchmark that
// do without ordered scans and insertion, several operations to a transaction.
func ycsbWorkloads() []Workload {
	with := func(name string, readPct int, what string) Workload {
		return Workload{
			Name: name,
			Doc: fmt.Sprintf("A transaction of --txn-size operations, "+
				"each on a key by a Zipf distribution: %s. Verified as the gets and puts above, with every "+
				"byte of the values, "+
				"and a transaction must read what it has written itself.", what),
			Params: Params{
				Keys: 1_000_000, ReadPct: readPct, Theta: 0.99,
				TxnSize: 4, ValueSize: ValueSize{100, 100},
			},
			kind:    ycsb,
			like:    "ycsb-a",
			minKeys: 1, maxKeys: manyKeys,
			multiKey: true,
		}
	}
	modifies := with("ycsb-f", 50, "50 % get, 50 % read-modify-write")
	modifies.modifies = true
	return []Workload{
		with("ycsb-a", 50, "50 % get, 50 % put"),
		with("ycsb-b", 95, "95 % get, 5 % put"),
		with("ycsb-c", 100, "get"),
		modifies,
	}
}

type ycsbJob[V any] struct{ observed[V] }

func (j *ycsbJob[V]) task(i int, s Session[V]) task {
	batcher, ok := s.(Batcher[V])
	if !ok {
		return nil
	}
	w := j.rig.config.Workload
	t := &ycsbTask[V]{
		batcher: batcher,
		keys:    j.rig.list,
		values:  newValues[V](j.rig.Trial, i),
		seen:    j.observer(i),
		reads:   j.reads(),
		write:   OpPut,
		coin:    j.rig.streamFor(i, forCoin),
		pick:    j.rig.streamFor(i, forPick),
		dist:    j.dist,
		ops:     make([]Op[V], w.Params.TxnSize),
		index:   make([]int, w.Params.TxnSize),
		label:   labeller{on: &j.rig.labelling},
	}
	if w.modifies {
		t.write = OpModify
	}
	return t
}

// ycsbTask reads and writes several keys in one transaction.
type ycsbTask[V any] struct {
	batcher Batcher[V]
	keys    []string
	values  values[V]
	seen    *observer
	reads   uint64 // an operation reads if its random 32 bits are below
	write   OpKind // what it does otherwise
	coin    stream
	pick    stream
	dist    *zipf
	ops     []Op[V]
	index   []int // of the keys of ops
	label   labeller
}

func (t *ycsbTask[V]) do() error {
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
func (t *ycsbTask[V]) check(op *Op[V], k int, before uint64) error {
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

func (t *ycsbTask[V]) labels() *labeller { return &t.label }
