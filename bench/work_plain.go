package bench

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// plainJob is a workload of a file that is [workfile.File.Plain].
type plainJob[V any] struct {
	observed[V]
	file   *workfile.File
	draws  []*drawing
	mix    mix
	ops    []plainOp
	next   *atomic.Int64
	tasks  []*plainTask[V]
	hashed bool
}

func newPlain[V any](r *rigOf[V]) *plainJob[V] {
	w := r.config.Workload
	next := new(struct {
		_ [128]byte
		atomic.Int64
		_ [128]byte
	})
	n := len(r.list)
	next.Store(int64(n))
	j := &plainJob[V]{observed: observed[V]{rig: r}, file: w.file, next: &next.Int64,
		hashed: w.file.Tables[0].Hashed}
	d := &drawings{workload: w, seed: r.config.Seed, newest: []*atomic.Int64{j.next}, records: []int{n},
		made: map[ranksKey]*zipf{}}
	for i := range w.file.Draws {
		j.draws = append(j.draws, d.of(&w.file.Draws[i]))
	}
	j.mix = mixOf(w.file)
	for i := range w.file.Operations {
		j.ops = append(j.ops, j.compile(&w.file.Operations[i]))
	}
	return j
}

// plainOp is an operation as a task does it.
type plainOp struct {
	*workfile.Operation
	steps []plainStep
	binds bool // it has variables that are not the keys of its steps
}

type plainStep struct {
	*workfile.Step
	kind OpKind
	draw int      // by which the key is drawn; -1: see Step.Key
	by   *drawing // of draw; nil if there is none
}

func (j *plainJob[V]) compile(op *workfile.Operation) plainOp {
	p := plainOp{Operation: op}
	used := 0
	for i := range op.Steps {
		s := plainStep{Step: &op.Steps[i], draw: -1}
		switch s.Kind {
		case workfile.Modify:
			s.kind = OpModify
		case workfile.Put, workfile.Insert:
			s.kind = OpPut
		}
		for k := range op.Vars {
			if v := &op.Vars[k]; s.Key != nil && v.Slot == s.Key.Slot && v.Draw >= 0 && v.Not < 0 {
				s.draw, s.by = v.Draw, j.draws[v.Draw]
				used++
			}
		}
		p.steps = append(p.steps, s)
	}
	if p.binds = used != len(op.Vars); p.binds || len(slots(op)) < used { // a variable is used twice
		p.binds = true
		for i := range p.steps {
			p.steps[i].by = nil
		}
	}
	return p
}

// slots returns those of the keys of an operation.
func slots(op *workfile.Operation) map[int]bool {
	all := map[int]bool{}
	for i := range op.Steps {
		if key := op.Steps[i].Key; key != nil && key.Slot >= 0 {
			all[key.Slot] = true
		}
	}
	return all
}

func (j *plainJob[V]) task(i int, s Session[V]) task {
	w := j.rig.config.Workload
	batch, modify, ranges, _ := w.needs()
	t := &plainTask[V]{
		job: j, session: s, mix: j.mix, mixed: j.ops, keys: j.rig.list, values: newValues[V](j.rig.Trial, i),
		seen: j.observer(i), coin: j.rig.streamFor(i, forCoin),
		drawer: newDrawer(j.rig.Trial, i, j.file, j.draws), size: max(w.Params.TxnSize, 1),
	}
	t.batcher, _ = s.(Batcher[V])
	t.swapper, _ = s.(Swapper[V])
	t.ranger, _ = s.(Ranger[V])
	switch {
	case batch && t.batcher == nil, modify && t.batcher == nil && t.swapper == nil,
		ranges && t.ranger == nil:
		return nil
	}
	t.label = newLabeller(&j.rig.labelling, namesOf(j.file))
	t.counts.done = make([]uint64, len(w.operationNames()))
	t.visit = t.check
	j.tasks = append(j.tasks, t)
	return t
}

// namesOf returns the names of the operations of a file.
func namesOf(f *workfile.File) (names []string) {
	for i := range f.Operations {
		names = append(names, f.Operations[i].Name)
	}
	return names
}

// drawer makes the draws of one goroutine.
type drawer struct {
	draws   []*drawing
	streams []stream
	drawn   []int64
	vars    []int64
}

func newDrawer(t *Trial, worker int, f *workfile.File, draws []*drawing) drawer {
	d := drawer{draws: draws, drawn: make([]int64, len(draws))}
	for i := range draws {
		d.streams = append(d.streams,
			newStream(t.config.Seed, uint64(t.config.Sample), uint64(worker), forPick, uint64(i)))
	}
	slots := 0
	for i := range f.Operations {
		slots = max(slots, f.Operations[i].Slots)
	}
	d.vars = make([]int64, slots)
	copy(d.vars, t.config.Workload.fileVars())
	return d
}

// bind draws the variables of an operation. It gives up on another value than that of a variable
// where there is none.
func (d *drawer) bind(op *workfile.Operation) {
	for i := range op.Vars {
		v := &op.Vars[i]
		if v.Draw < 0 {
			d.vars[v.Slot] = v.Expr.Eval(d.vars)
			continue
		}
		x := d.draw(v.Draw)
		if v.Not >= 0 {
			for try := 0; x == d.vars[v.Not] && try < 1_000; try++ {
				x = d.draw(v.Draw)
			}
		}
		d.vars[v.Slot] = x
	}
}

func (d *drawer) draw(i int) int64 { return d.draws[i].draw(&d.streams[i], &d.drawn[i]) }

func (d *drawer) eval(e *workfile.Expr) int64 {
	if e.Slot >= 0 {
		return d.vars[e.Slot]
	}
	return e.Eval(d.vars)
}

// plainTask does the operations of a plain file.
type plainTask[V any] struct {
	drawer
	job     *plainJob[V]
	session Session[V]
	batcher Batcher[V]
	swapper Swapper[V] // nil: batcher modifies
	ranger  Ranger[V]
	keys    []string
	values  values[V]
	seen    *observer
	coin    stream
	mix     mix
	mixed   []plainOp
	size    int // operations of a transaction
	ops     []Op[V]
	index   []int // of the keys of ops
	lost    []int // numbers of keys that were to be new, and whose operation has failed
	label   labeller
	counts  operationCounts

	// A range that is under way.
	visit func(key string, value V)
	low   int    // the index of the next of the first keys
	from  string // the last key that was read, or the first that may be
	last  string
	count int
	wrong error // the first violation
}

func (t *plainTask[V]) labels() *labeller { return &t.label }

func (t *plainTask[V]) operations() *operationCounts { return &t.counts }

func (t *plainTask[V]) do() error {
	t.index = t.index[:0]
	if t.size > 1 {
		return t.transaction()
	}
	now := t.mix.draw(&t.coin)
	op := &t.mixed[now]
	t.counts.now = now
	t.label.at(now)
	if op.binds {
		t.bind(op.Operation)
	}
	var err error
	if len(op.steps) == 1 {
		err = t.single(&op.steps[0])
	} else {
		before := t.seen.seq
		err = t.batch(t.add(op), before)
	}
	if err == nil {
		t.counts.count()
	}
	return err
}

// single does a step that is the whole transaction.
func (t *plainTask[V]) single(s *plainStep) error {
	k := t.target(s)
	key := t.name(k)
	before := t.seen.seq
	switch {
	case s.Kind == workfile.Get:
		v, ok, err := t.session.Get(key)
		if err != nil {
			return err
		}
		return t.got(k, key, v, ok, before)
	case s.Kind == workfile.Range:
		return t.read(k, int(t.eval(s.Count)))
	case s.Kind == workfile.Modify && t.batcher != nil:
		return t.batch(t.step(s, k), before)
	}
	stamp := t.seen.draw(k)
	var v, old V
	t.values.set(&v, stamp)
	var ok bool
	var err error
	if s.Kind == workfile.Modify {
		old, ok, err = t.swapper.Swap(key, v)
	} else {
		err = t.session.Put(key, v)
	}
	switch {
	case err == nil && s.Kind == workfile.Modify:
		err = t.got(k, key, old, ok, before)
	case err != nil && s.Kind == workfile.Insert:
		t.lost = append(t.lost, k)
	}
	if err == nil {
		t.put(k, stamp)
	}
	return err
}

// transaction does so many operations in one.
func (t *plainTask[V]) transaction() error {
	before, readOnly := t.seen.seq, true
	for range t.size {
		op := &t.mixed[t.mix.draw(&t.coin)]
		if op.binds {
			t.bind(op.Operation)
		}
		readOnly = t.add(op) && readOnly
	}
	if readOnly {
		t.label.gets()
	} else {
		t.label.puts()
	}
	return t.batch(readOnly, before)
}

// target returns the index of the key of a step.
func (t *plainTask[V]) target(s *plainStep) int {
	switch {
	case s.by != nil && s.by.kind == drawRank:
		return s.by.ranks.draw(&t.streams[s.draw])
	case s.by != nil:
		return int(s.by.draw(&t.streams[s.draw], &t.drawn[s.draw]))
	case s.Key == nil:
		return int(t.job.next.Add(1) - 1)
	}
	return int(t.eval(s.Key))
}

// add adds the steps of op to the transaction, and reports whether they only read.
func (t *plainTask[V]) add(op *plainOp) (reads bool) {
	reads = true
	for i := range op.steps {
		s := &op.steps[i]
		reads = t.step(s, t.target(s)) && reads
	}
	return reads
}

// step adds s, with key k, to the transaction.
func (t *plainTask[V]) step(s *plainStep, k int) (reads bool) {
	n := len(t.index)
	if n == len(t.ops) {
		t.ops = append(t.ops, Op[V]{})
	}
	op := &t.ops[n]
	t.index = append(t.index, k)
	op.Kind, op.Key, op.OK = s.kind, t.name(k), false
	if s.kind == OpGet {
		return true
	}
	t.values.set(&op.Value, t.seen.draw(k))
	return false
}

// batch does the transaction, whose writes are those after before.
func (t *plainTask[V]) batch(readOnly bool, before uint64) error {
	ops := t.ops[:len(t.index)]
	if err := t.batcher.Batch(ops, readOnly); err != nil {
		for i, k := range t.index {
			if k >= len(t.keys) && ops[i].Kind == OpPut {
				t.lost = append(t.lost, k)
			}
		}
		return err
	}
	for i := range ops {
		op := &ops[i]
		k := t.index[i]
		if op.Kind != OpPut && (!op.OK || k >= len(t.keys) || t.values.stamp(op.Old) != t.seen.last[k]) {
			if err := t.got(k, op.Key, op.Old, op.OK, before); err != nil {
				return err
			}
		}
		if op.Kind != OpGet {
			t.put(k, t.values.stamp(op.Value))
		}
	}
	return nil
}

// put records that a value has been committed.
func (t *plainTask[V]) put(k int, v stamp) {
	if k < len(t.keys) {
		t.seen.put(k, v)
	}
}

// got checks what was read of key k, in the transaction whose writes are those after before.
func (t *plainTask[V]) got(k int, key string, value V, ok bool, before uint64) error {
	var err error
	v := t.values.stamp(value)
	if k >= len(t.keys) {
		if !ok { // its insert may be under way
			return nil
		}
		err = t.seen.fresh(k, v)
	} else {
		last := t.seen.last[k]
		err = t.seen.got(k, v, ok)
		if err == nil && v != last && stampWriter(last) == t.seen.writer && stampSeq(last) > before {
			err = wrong("", "a transaction that wrote %s read %s", describe(last), describe(v))
		}
	}
	if err != nil {
		return wrongValue(key, &t.values, value, ok, err)
	}
	return nil
}

// fresh checks v, the value of key k, which was not there at first.
func (o *observer) fresh(k int, v stamp) error {
	w := stampWriter(v)
	switch {
	case w == 0 || w >= o.writers:
		return fmt.Errorf("holds %#x, which nobody wrote", v)
	case !keyMatches(v, k):
		return fmt.Errorf("holds %s, which was written to another key", describe(v))
	}
	o.latest[w] = max(o.latest[w], stampSeq(v))
	return nil
}

// read reads up to n keys from the one with index k on.
func (t *plainTask[V]) read(k, n int) error {
	n = max(n, 1)
	t.low, t.from, t.last, t.count, t.wrong = k, t.keys[k], "", 0, nil
	if err := t.ranger.Range(t.from, n, t.visit); err != nil {
		return err
	}
	switch {
	case t.wrong != nil:
	case t.count > n:
		t.wrong = wrong(t.from, "a read of %d keys from here on gave %d", n, t.count)
	case t.count < n && t.low < len(t.keys):
		t.wrong = wrong(t.keys[t.low], "is not in a read of %d keys from %s on, which gave %d", n, t.from,
			t.count)
	}
	return t.wrong
}

// check checks one key of a range: it is the next of those that were there at first, or a newer one
// before that.
func (t *plainTask[V]) check(key string, value V) {
	t.count++
	if t.wrong != nil {
		return
	}
	if t.low < len(t.keys) && key == t.keys[t.low] {
		t.wrong = t.got(t.low, key, value, true, t.seen.seq)
		t.low++
		t.last = key
		return
	}
	k, ok := numberOf(key, t.job.hashed)
	inOrder := key > t.last && key >= t.from && (t.low == len(t.keys) || key < t.keys[t.low])
	if !ok || !inOrder || k < len(t.keys) || int64(k) >= t.job.next.Load() {
		expected := "the end"
		if t.low < len(t.keys) {
			expected = t.keys[t.low] + ", or a new key before it,"
		}
		t.wrong = wrong(key, "came where %s was to come", expected)
		return
	}
	t.last = key
	t.wrong = t.got(k, key, value, true, t.seen.seq)
}

// name returns the key with index k, or the new one with that number.
func (t *plainTask[V]) name(k int) string {
	if k < len(t.keys) {
		return t.keys[k]
	}
	return newKey(k, t.job.rig.config.Workload.ordered, t.job.hashed)
}

// newKey returns the key with a number that is not below those of the first.
func newKey(k int, ordered, hashed bool) string {
	switch {
	case hashed:
		return hashedKey(k)
	case ordered:
		return fmt.Sprintf("%s%09d", keyPrefix, k)
	}
	return keyPrefix + strconv.Itoa(k)
}

// numberOf returns the number of a key that newKey has made.
func numberOf(key string, hashed bool) (k int, ok bool) {
	digits, ok := strings.CutPrefix(key, keyPrefix)
	if !ok {
		return 0, false
	}
	if hashed {
		h, err := strconv.ParseUint(digits, 16, 64)
		n := workfile.Unhash(h)
		return int(n), err == nil && n < 1<<62
	}
	k, err := strconv.Atoi(digits)
	return k, err == nil
}

func (j *plainJob[V]) verify() error {
	if err := j.observed.verify(); err != nil {
		return err
	}
	lost := map[int]bool{}
	for _, t := range j.tasks {
		for _, k := range t.lost {
			lost[k] = true
		}
	}
	for k := len(j.rig.list); k < int(j.next.Load()); k++ {
		key := newKey(k, j.rig.config.Workload.ordered, j.hashed)
		v, ok, err := j.rig.runner.Get(key)
		switch {
		case err != nil:
			return err
		case !ok && !lost[k]:
			return wrong(key, "is absent at the end, but was inserted")
		case !ok:
			continue
		}
		s := j.rig.values.stamp(v)
		w := stampWriter(s)
		if w == 0 || w > len(j.all) || !keyMatches(s, k) || stampSeq(s) > j.all[w-1].seq {
			return wrongValue(key, &j.rig.values, v, true,
				fmt.Errorf("holds %s at the end, which was not put there", describe(s)))
		}
	}
	return nil
}
