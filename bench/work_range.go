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
			kind:   rangeAudit, minKeys: accountGroup, maxKeys: manyKeys,
			multiKey: true, ordered: true,
		},
	}
}

// accountGroup is how many accounts range-audit adds up at a time.
const accountGroup = 100

type rangeReadJob[K comparable, V any] struct {
	observed[K, V]
	tasks []*rangeReadTask[K, V]
}

func (j *rangeReadJob[K, V]) task(i int, s Session[K, V]) task {
	ranger, ok := s.(Ranger[K, V])
	batcher, both := s.(Batcher[K, V])
	if !ok || !both {
		return nil
	}
	w := j.config.Workload
	t := &rangeReadTask[K, V]{
		ranger: ranger, batcher: batcher, keys: j.list, values: newValues[V](j.Trial, i),
		worker: i, workers: j.config.Threads, reads: j.reads(), longest: w.Params.TxnSize,
		coin: j.streamFor(i, forCoin), pick: j.streamFor(i, forPick), lengths: j.streamFor(i, forAmount),
		dist: j.dist, ops: make([]Op[K, V], 1), label: labeller{on: &j.labelling},
	}
	for k := 1 + 2*i; k < len(j.list); k += 2 * t.workers {
		t.held = append(t.held, loaded(k))
	}
	t.visit = t.check
	j.tasks = append(j.tasks, t)
	return t
}

func (j *rangeReadJob[K, V]) verify() error {
	return j.each(func(k int, v stamp, ok bool) error {
		t := j.tasks[k/2%len(j.tasks)]
		if err := t.expect(k, v, ok); err != nil {
			return &violation{key: j.name(k), detail: err.Error()}
		}
		return nil
	})
}

// rangeReadTask reads ranges, and deletes and puts back the goroutine's own keys: of those
// with odd numbers, in turn one for each goroutine.
type rangeReadTask[K comparable, V any] struct {
	ranger          Ranger[K, V]
	batcher         Batcher[K, V]
	keys            []K
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
	ops             []Op[K, V]
	label           labeller

	// A read that is under way.
	visit func(key K, value V)
	next  int // the number of the least key that may follow
	count int
	wrong error // the first thing that is
}

func (t *rangeReadTask[K, V]) labels() *labeller { return &t.label }

func (t *rangeReadTask[K, V]) do() error {
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
func (t *rangeReadTask[K, V]) read(k, n int) error {
	t.next, t.count, t.wrong = k, 0, nil
	if err := t.ranger.Range(t.keys[k], n, t.visit); err != nil {
		return err
	}
	if t.count < n {
		t.skip(len(t.keys))
	}
	if t.wrong == nil && t.count > n {
		t.wrong = wrong(keyName(t.keys[k]), "a read of %d keys from here on gave %d", n, t.count)
	}
	return t.wrong
}

// check checks one key of a read, and that none is missing before it.
func (t *rangeReadTask[K, V]) check(key K, value V) {
	t.count++
	k := keyIndex(key)
	if t.wrong != nil {
		return
	}
	if k < t.next || k >= len(t.keys) {
		t.wrong = wrong(keyName(key), "came where %s or a later one was to come",
			keyName(t.keys[min(t.next, len(t.keys)-1)]))
		return
	}
	t.skip(k)
	t.next = k + 1
	if err := t.expect(k, t.values.stamp(value), true); err != nil && t.wrong == nil {
		t.wrong = wrongValue(key, &t.values, value, true, err)
	}
}

// skip checks that the keys up to number k, without it, may be absent.
func (t *rangeReadTask[K, V]) skip(k int) {
	for ; t.next < k && t.wrong == nil; t.next++ {
		if err := t.expect(t.next, 0, false); err != nil {
			t.wrong = wrongValue(t.keys[t.next], &t.values, *new(V), false, err)
		}
	}
}

// expect checks what was found of the key with number k.
func (t *rangeReadTask[K, V]) expect(k int, v stamp, ok bool) error {
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

type rangeAuditJob[K comparable, V any] struct{ added[K, V] }

func (j *rangeAuditJob[K, V]) task(i int, s Session[K, V]) task {
	ranger, ok := s.(Ranger[K, V])
	mover, both := s.(Transferer[K])
	if !ok || !both {
		return nil
	}
	t := &rangeAuditTask[K, V]{
		transferTask: transferTask[K]{
			transfer: mover, keys: j.list,
			pick: j.streamFor(i, forPick), amount: j.streamFor(i, forAmount), moved: numbers(len(j.list)),
		},
		ranger: ranger, coin: j.streamFor(i, forCoin), label: labeller{on: &j.labelling},
		audits: uint64(j.config.Workload.Params.ReadPct) * (1 << 32) / 100,
	}
	t.visit = t.add
	return j.adds(t)
}

// rangeAuditTask moves amounts between accounts of a group, and adds up groups.
type rangeAuditTask[K comparable, V any] struct {
	transferTask[K]
	ranger Ranger[K, V]
	values values[V]
	coin   stream
	audits uint64 // an operation adds up if its random 32 bits are below
	label  labeller

	visit func(key K, value V)
	sum   uint64
	count int
}

func (t *rangeAuditTask[K, V]) labels() *labeller { return &t.label }

func (t *rangeAuditTask[K, V]) add(_ K, value V) {
	t.sum += t.values.stamp(value)
	t.count++
}

func (t *rangeAuditTask[K, V]) do() error {
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
		return wrong(keyName(t.keys[low]),
			"the group that begins here has %d accounts and %d in all, not %d and %d",
			t.count, int64(t.sum), accountGroup, accountGroup*openingBalance)
	}
	return nil
}
