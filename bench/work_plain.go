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
	names  *keyNames
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
		hashed: w.file.Tables[0].Hashed,
		names:  &keyNames{first: n, ordered: w.ordered, hashed: w.file.Tables[0].Hashed}}
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

// bind draws variables of an operation. It gives up on another value than that of a variable
// where there is none.
func (d *drawer) bind(vars []workfile.Var) {
	for i := range vars {
		v := &vars[i]
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
