package bench

import "fmt"

// rangeWorkloads read ranges of keys in their order.
func rangeWorkloads() []Workload {
	return []Workload{
		{
			Name: "range-read",
			Doc: "Read up to --txn-size keys in their order, from one by a Zipf distribution on; the " +
				"number " +
				"is drawn, too. Otherwise, as --read-pct says, delete a key, or put it back: every other " +
				"key belongs to a goroutine, which does. (That is YCSB E, but that the keys do not become " +
				"more.) A read must give the keys that are there, each once, in order, with what was put, " +
				"and at the end each must be there or not as its goroutine left it.",
			Params: Params{
				Keys: 100_000, ReadPct: 95, Theta: 0.99,
				TxnSize: 100, ValueSize: ValueSize{100, 100},
			},
			kind:    rangeRead,
			minKeys: 2, maxKeys: manyKeys,
			multiKey: true, ordered: true,
		},
		{
			Name: "range-audit",
			Doc: "The accounts are in groups of 100 that follow each other. Add up a group picked at " +
				"random, which is a range of keys, or, as --read-pct says, move an amount between two " +
				"accounts of a group: read 2, write 2 in one transaction. Every sum must be what it was at " +
				"first, and at the end each account must hold what the transfers make of it.",
			Params: Params{Keys: 10_000, ReadPct: 50, Theta: Unset},
			kind:   rangeAudit, like: "range-read", minKeys: accountGroup, maxKeys: manyKeys,
			multiKey: true, ordered: true,
		},
	}
}

// accountGroup is how many accounts range-audit adds up at a time.
const accountGroup = 100

type rangeReadJob[V any] struct {
	observed[V]
	tasks []*rangeReadTask[V]
}

func (j *rangeReadJob[V]) task(i int, s Session[V]) task {
	ranger, ok := s.(Ranger[V])
	batcher, both := s.(Batcher[V])
	if !ok || !both {
		return nil
	}
	w := j.rig.config.Workload
	t := &rangeReadTask[V]{
		ranger: ranger, batcher: batcher, keys: j.rig.list, values: newValues[V](j.rig.Trial, i),
		worker: i, workers: j.rig.config.Threads, reads: j.reads(), longest: w.Params.TxnSize,
		coin: j.rig.streamFor(i, forCoin), pick: j.rig.streamFor(i, forPick),
		lengths: j.rig.streamFor(i, forAmount),
		dist:    j.dist, ops: make([]Op[V], 1), label: labeller{on: &j.rig.labelling},
	}
	for k := 1 + 2*i; k < len(j.rig.list); k += 2 * t.workers {
		t.held = append(t.held, loaded(k))
	}
	t.visit = t.check
	j.tasks = append(j.tasks, t)
	return t
}

func (j *rangeReadJob[V]) verify() error {
	return j.rig.each(func(k int, v stamp, ok bool) error {
		t := j.tasks[k/2%len(j.tasks)]
		if err := t.expect(k, v, ok); err != nil {
			return &violation{key: j.rig.name(k), detail: err.Error()}
		}
		return nil
	})
}

// rangeReadTask reads ranges, and deletes and puts back the goroutine's own keys: of those
// with odd numbers, in turn one for each goroutine.
type rangeReadTask[V any] struct {
	ranger          Ranger[V]
	batcher         Batcher[V]
	keys            []string
	values          values[V]
	worker, workers int
	reads           uint64 // an operation reads if its random 32 bits are below
	longest         int    // how many keys it reads at most
	coin            stream
	pick            stream
	lengths         stream
	dist            *zipf
	seq             uint64
	held            []stamp // of the own keys; 0: deleted
	ops             []Op[V]
	label           labeller

	// A read that is under way.
	visit func(key string, value V)
	next  int // the number of the least key that may follow
	count int
	wrong error // the first violation
}

func (t *rangeReadTask[V]) labels() *labeller { return &t.label }

func (t *rangeReadTask[V]) do() error {
	if len(t.held) == 0 || t.coin.next()>>32 < t.reads {
		t.label.gets()
		return t.read(t.dist.draw(&t.pick), 1+t.lengths.below(t.longest))
	}
	t.label.puts()
	n := t.pick.below(len(t.held))
	k := 1 + 2*t.worker + 2*t.workers*n
	op, left := &t.ops[0], stamp(0)
	op.Kind, op.Key = OpDelete, t.keys[k]
	if t.held[n] == 0 {
		t.seq++
		left = makeStamp(t.worker+1, k, t.seq)
		op.Kind = OpPut
		t.values.set(&op.Value, left)
	}
	if err := t.batcher.Batch(t.ops, false); err != nil {
		return err
	}
	t.held[n] = left
	return nil
}

// read reads n keys from number k on.
func (t *rangeReadTask[V]) read(k, n int) error {
	t.next, t.count, t.wrong = k, 0, nil
	if err := t.ranger.Range(t.keys[k], n, t.visit); err != nil {
		return err
	}
	if t.count < n {
		t.skip(len(t.keys))
	}
	if t.wrong == nil && t.count > n {
		t.wrong = wrong(t.keys[k], "a read of %d keys from here on gave %d", n, t.count)
	}
	return t.wrong
}

// check checks one key of a read, and that none is missing before it.
func (t *rangeReadTask[V]) check(key string, value V) {
	t.count++
	k := keyIndex(key)
	if t.wrong != nil {
		return
	}
	if k < t.next || k >= len(t.keys) {
		t.wrong = wrong(key, "came where %s or a later one was to come",
			t.keys[min(t.next, len(t.keys)-1)])
		return
	}
	t.skip(k)
	t.next = k + 1
	if err := t.expect(k, t.values.stamp(value), true); err != nil && t.wrong == nil {
		t.wrong = wrongValue(key, &t.values, value, true, err)
	}
}

// skip checks that the keys up to number k, without it, may be absent.
func (t *rangeReadTask[V]) skip(k int) {
	for ; t.next < k && t.wrong == nil; t.next++ {
		if err := t.expect(t.next, 0, false); err != nil {
			t.wrong = wrongValue(t.keys[t.next], &t.values, *new(V), false, err)
		}
	}
}

// expect checks what was found of the key with number k.
func (t *rangeReadTask[V]) expect(k int, v stamp, ok bool) error {
	owner := k / 2 % t.workers
	switch {
	case k%2 == 0:
		if !ok || v != loaded(k) {
			return fmt.Errorf("gives %s, %t, but nobody writes it", describe(v), ok)
		}
	case owner == t.worker:
		if held := t.held[k/2/t.workers]; ok != (held != 0) || ok && v != held {
			return fmt.Errorf("gives %s, %t, but its only writer has left %s", describe(v),
				ok, describe(held))
		}
	case ok && (!keyMatches(v, k) || stampWriter(v) != 0 && stampWriter(v) != owner+1):
		return fmt.Errorf("gives %s, which was not put there", describe(v))
	}
	return nil
}

type rangeAuditJob struct{ added }

func (j *rangeAuditJob) task(i int, s Session[uint64]) task {
	ranger, ok := s.(Ranger[uint64])
	mover, both := s.(Transferer)
	if !ok || !both {
		return nil
	}
	t := &rangeAuditTask{
		transferTask: transferTask{
			transfer: mover, keys: j.rig.list,
			pick: j.rig.streamFor(i, forPick), amount: j.rig.streamFor(i, forAmount),
			moved: numbers(len(j.rig.list)),
		},
		ranger: ranger, coin: j.rig.streamFor(i, forCoin), label: labeller{on: &j.rig.labelling},
		audits: uint64(j.rig.config.Workload.Params.ReadPct) * (1 << 32) / 100,
	}
	t.visit = t.add
	return j.adds(t)
}

// rangeAuditTask moves amounts between accounts of a group, and adds up groups.
type rangeAuditTask struct {
	transferTask
	ranger Ranger[uint64]
	coin   stream
	audits uint64 // an operation adds up if its random 32 bits are below
	label  labeller

	visit func(key string, value uint64)
	sum   uint64
	count int
}

func (t *rangeAuditTask) labels() *labeller { return &t.label }

func (t *rangeAuditTask) add(_ string, value uint64) {
	t.sum += value
	t.count++
}

func (t *rangeAuditTask) do() error {
	low := t.pick.below(len(t.keys)/accountGroup) * accountGroup
	if t.coin.next()>>32 >= t.audits {
		t.label.puts()
		return t.move(low, accountGroup)
	}
	t.label.gets()
	t.sum, t.count = 0, 0
	if err := t.ranger.Range(t.keys[low], accountGroup, t.visit); err != nil {
		return err
	}
	if t.count != accountGroup || t.sum != accountGroup*openingBalance {
		return wrong(t.keys[low],
			"the group that begins here has %d accounts and %d in all, not %d and %d",
			t.count, int64(t.sum), accountGroup, accountGroup*openingBalance)
	}
	return nil
}
