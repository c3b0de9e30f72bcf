package bench

import (
	"errors"

	"github.com/mvccmap/mvccmap/internal/workfile"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A rig is an engine and what a workload does with it, with all that depends on the
// type of values, so that the rest of a [Trial] need not know them.
type rig interface {
	// fill makes the engine, and checks that it holds what it was filled with.
	fill() error
	// start makes a session and a task for each goroutine, and the auditor.
	start() error
	// verify checks what the goroutines have left behind.
	verify() error
	// engineItself returns the engine.
	engineItself() any
	// close ends the engine, and before that whatever is open in it.
	close()
}

// aborter is what all sessions are, whatever their values.
type aborter interface{ Aborts() uint64 }

// newRig returns the rig for the values that t has.
func newRig(t *Trial) rig {
	switch t.config.Workload.kind {
	case orders:
		return &shopRig{txRig: txRig[ShopTx]{Trial: t}}
	case script:
		return newScriptRig(t)
	}
	if t.config.Workload.valueSize().Words() {
		r := newRigOf[uint64](t)
		if r.job == nil {
			r.job = newNumberJob(r)
		}
		return r
	}
	return newRigOf[[]byte](t)
}

// rigOf is the [rig] for values of type V. Keys are named by their index, and values by the stamp
// or number that they carry. Jobs have it as a field and do not embed it: its methods, and those of
// the Trial, would be compiled for each job and each V.
type rigOf[V any] struct {
	*Trial
	job    job[V]
	engine Engine[V]
	runner Session[V] // used between runs
	list   []string   // the keys
	values values[V]  // the runner's
	pin    Pin[V]     // open until the end; nil if there is none
	atEnd  func()     // is called at the end, if not nil
}

func newRigOf[V any](t *Trial) *rigOf[V] {
	n := t.config.Workload.keyCount(t.config.Threads)
	r := &rigOf[V]{Trial: t, values: newValues[V](t, -1)}
	switch w := t.config.Workload; {
	case w.kind == replay:
		r.list = nil // its keys come as they are put
	case w.kind == plain && w.file.Tables[0].Hashed:
		r.list = hashedKeys(n)
	default:
		r.list = makeKeys(n, w.ordered)
	}
	r.job = newJob(r)
	return r
}

// open makes an engine with values of type V.
func open[V any](e EngineSpec, setup Setup[V]) (Engine[V], error) {
	if made, ok := any(e.New).(func(Setup[V]) (Engine[V], error)); ok {
		return made(setup)
	}
	return any(e.NewBytes).(func(Setup[V]) (Engine[V], error))(setup)
}

// newValues returns what goroutine worker, or the runner if it is -1, makes
// values with.
func newValues[V any](t *Trial, worker int) values[V] {
	f := filler{size: t.config.Workload.valueSize(), sizes: t.streamFor(worker, forSizes)}
	if w := t.config.Workload; w.kind == plain {
		f.skew = t.skewOf(w.file.Tables[0].Size)
	}
	return values[V]{f}
}

// skewOf returns the distribution of the sizes of values by their distance from the least, nil if it
// is uniform.
func (t *Trial) skewOf(size workfile.Size) *zipf {
	theta := t.config.Workload.sizeTheta(size)
	if theta == 0 || size.Max == size.Min {
		return nil
	}
	key := ranksKey{n: size.Max - size.Min + 1, theta: theta}
	if t.skews[key] == nil {
		if t.skews == nil {
			t.skews = map[ranksKey]*zipf{}
		}
		t.skews[key] = newZipf(key.n, theta)
	}
	return t.skews[key]
}

func (r *rigOf[V]) fill() error {
	setup := Setup[V]{
		// The engine keeps strings of its own, as it would in a program whose
		// keys come from somewhere else each time.
		Keys:      cloneKeys(r.list),
		Values:    make([]V, len(r.list)),
		Ordered:   r.config.Workload.ordered,
		Kept:      r.config.Workload.kept,
		Isolation: r.config.Isolation,
		Map:       r.config.Map,
		Limits:    Limits{Attempts: r.config.Attempts, Stopped: r.stop.Load},
	}
	for k := range setup.Values {
		setup.Values[k] = r.values.make(r.job.first(k))
	}
	engine, err := open(r.config.Engine, setup)
	if err != nil {
		return err
	}
	r.engine = engine
	r.runner = engine.Session(-1)
	// The map that is measured is not empty.
	return r.each(func(k int, v stamp, ok bool) error {
		if want := r.job.first(k); !ok || v != want {
			return wrong(r.name(k), "the map was filled with %#x and gives %#x, %t", want, v, ok)
		}
		return nil
	})
}

// start makes the workers and the auditor, if there is one.
func (r *rigOf[V]) start() error {
	for i := range r.config.Threads {
		s := r.engine.Session(i)
		task := r.job.task(i, s)
		if task == nil {
			return errUnsupported
		}
		r.workers = append(r.workers, newWorker(r.Trial, i, s, task))
	}
	if job, ok := r.job.(audited[V]); ok {
		a, err := job.auditor(r.engine.Session(r.config.Threads))
		if err != nil {
			return err
		}
		r.audits = &auditWorker{auditor: a, interval: r.config.AuditInterval}
		if r.config.Workload.restless {
			r.audits.interval = 0
		}
	}
	return nil
}

func (r *rigOf[V]) verify() error { return r.job.verify() }

// each reads every key with the runner's session and calls check, until that fails.
func (r *rigOf[V]) each(check func(k int, v stamp, ok bool) error) error {
	for k := range r.list {
		v, ok, err := r.get(k)
		if err != nil {
			return err
		}
		if err := check(k, v, ok); err != nil {
			return err
		}
	}
	return nil
}

func (r *rigOf[V]) get(k int) (stamp, bool, error) {
	v, ok, err := r.runner.Get(r.list[k])
	if err != nil || !ok {
		return 0, false, err
	}
	if flaw := r.values.flaw(v); flaw != "" {
		return 0, true, wrong(r.name(k), "%s", flaw)
	}
	return r.values.stamp(v), true, nil
}

func (r *rigOf[V]) name(k int) string { return r.list[k] }

func (r *rigOf[V]) engineItself() any { return r.engine }

func (r *rigOf[V]) close() {
	if r.pin != nil {
		r.pin.Close()
	}
	if r.atEnd != nil {
		r.atEnd()
	}
	if r.engine != nil {
		r.engine.Close()
	}
}

// versions returns how many versions the engine holds; ok is false if it does not say.
func (t *Trial) versions() (n int, ok bool) {
	if v, ok := t.rig.engineItself().(Versioner); ok {
		return v.Versions(), true
	}
	return 0, false
}

// MapStats returns the statistics of the map or database under test, or of one of its tables,
// as in "/orders"; zero if it has none. It may be called by any goroutine once the map has been
// filled, and costs what [mvcc.Map.Stats] does.
func (t *Trial) MapStats(table string) (s mvcc.Stats) {
	e, ok := t.rig.engineItself().(interface {
		sources() map[string]func() mvcc.Stats
	})
	if !ok {
		return s
	}
	if stats := e.sources()[table]; stats != nil {
		s = stats()
	}
	return s
}

// errUnsupported reports an engine or a session that lacks what a workload needs.
var errUnsupported = errors.New("the engine or its sessions lack what the workload needs")
