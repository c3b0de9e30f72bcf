package bench

import (
	"fmt"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// scriptRig is the [rig] of a workload of a file that is not [workfile.File.Plain].
type scriptRig struct {
	txRig[TablesTx]
	file   *workfile.File
	tables []*scriptTable
	draws  []*drawing
	mix    mix
	tasks  []*scriptTask
	first  []int64 // by invariant: the left side at first
}

// scriptTable is a table of a file, with what all goroutines know of it.
type scriptTable struct {
	*workfile.Table
	n      int           // keys that there are at first, if they are present
	texts  []string      // of these keys, if they are strings
	names  *keyNames     // of new keys, likewise
	next   *atomic.Int64 // the number of the next new key
	size   ValueSize
	filler filler // without a stream
}

func newScriptRig(t *Trial) *scriptRig {
	w := t.config.Workload
	r := &scriptRig{txRig: txRig[TablesTx]{Trial: t}, file: w.file, mix: mixOf(w.file)}
	l, _ := newLayout(w) // the configuration was validated
	d := &drawings{workload: w, seed: t.config.Seed, records: l.records, made: map[ranksKey]*zipf{}}
	for i, n := range l.records {
		spec := &w.file.Tables[i]
		next := new(struct {
			_ [128]byte
			atomic.Int64
			_ [128]byte
		})
		next.Store(int64(n))
		s := &scriptTable{Table: spec, n: n, next: &next.Int64,
			size: ValueSize{spec.Size.Min, spec.Size.Max}}
		if spec.Size.Param {
			s.size = w.Params.ValueSize
		}
		s.filler = filler{size: s.size, skew: t.skewOf(spec.Size)}
		if spec.Strings {
			s.names = &keyNames{first: n, ordered: spec.Ordered, hashed: spec.Hashed}
			s.texts = make([]string, n)
			for k := range s.texts {
				s.texts[k] = newKey(k, spec.Ordered, spec.Hashed)
			}
		}
		r.tables = append(r.tables, s)
		d.newest = append(d.newest, s.next)
	}
	for i := range w.file.Draws {
		r.draws = append(r.draws, d.of(&w.file.Draws[i]))
	}
	return r
}

// key returns the key with number k.
func (s *scriptTable) key(k int64) RecordKey {
	switch {
	case !s.Strings:
		return RecordKey{Number: k}
	case k < int64(s.n):
		return RecordKey{k, s.texts[k]}
	}
	return RecordKey{k, s.names.of(int(k))}
}

// name returns the key with number k, as messages have it.
func (s *scriptTable) name(k int64) string {
	if s.Strings {
		return s.Name + "/" + s.key(k).Text
	}
	return fmt.Sprintf("%s/%d", s.Name, k)
}

// values returns what makes and reads the bytes of records.
func (s *scriptTable) values(t *Trial, worker, table int) values[[]byte] {
	f := s.filler
	f.sizes = newStream(t.config.Seed, uint64(t.config.Sample), uint64(worker), forSizes, uint64(table))
	return values[[]byte]{f}
}

// firstOf returns the record with number k at first, if there is one.
func (s *scriptTable) firstOf(vars []int64, k int, v *values[[]byte]) (r Record, ok bool) {
	vars[workfile.SlotKey] = int64(k)
	if s.Present != nil && s.Present.Eval(vars) == 0 {
		return r, false
	}
	if s.Number != nil {
		r.Number = s.Number.Eval(vars)
	}
	if s.size.Max > 0 && v != nil {
		r.Bytes = v.make(loaded(k))
	}
	return r, true
}

func (r *scriptRig) fill() error {
	vars := r.config.Workload.fileVars()
	setup := TablesSetup{Isolation: r.config.Isolation, Map: r.config.Map, RollsBack: r.file.RollsBack(),
		Limits: Limits{Attempts: r.config.Attempts, Stopped: r.stop.Load}}
	for i, s := range r.tables {
		v := s.values(r.Trial, -1, i)
		t := TableSetup{Name: s.Name, Strings: s.Strings, Ordered: s.Ordered}
		for k := range s.n {
			if first, ok := s.firstOf(vars, k, &v); ok {
				t.Keys, t.Records = append(t.Keys, s.key(int64(k))), append(t.Records, first)
			}
		}
		setup.Tables = append(setup.Tables, t)
	}
	if err := r.open(r.config.Engine.NewTables(setup)); err != nil {
		return err
	}
	if err := r.verify(); err != nil {
		return err
	}
	return r.beginInvariants()
}

func (r *scriptRig) start() error {
	for i := range r.config.Threads {
		s := r.engine.Session(i)
		t := newScriptTask(r, i, s)
		r.tasks = append(r.tasks, t)
		r.workers = append(r.workers, newWorker(r.Trial, i, s, t))
	}
	if r.file.Audited() {
		a := &invariantAuditor{rig: r, session: r.engine.Session(r.config.Threads)}
		r.audits = &auditWorker{auditor: a, interval: r.config.AuditInterval}
	}
	return nil
}

// verify looks at every record, and at the invariants.
func (r *scriptRig) verify() error {
	for i := range r.tables {
		if err := r.verifyTable(i); err != nil {
			return err
		}
	}
	if r.first == nil { // it has just been filled
		return nil
	}
	return (&invariantAuditor{rig: r, session: r.runner, all: true}).do()
}

func (r *scriptRig) verifyTable(table int) error {
	s := r.tables[table]
	vars := r.config.Workload.fileVars()
	values := s.values(r.Trial, -1, table)
	var seen []*observer
	lost := map[int64]bool{}
	for _, t := range r.tasks {
		if o := t.tables[table].seen; o != nil {
			seen = append(seen, o)
		}
		for _, k := range t.tables[table].lost {
			lost[k] = true
		}
	}
	if err := checkSeen(seen); err != nil {
		return &violation{detail: err.Error()}
	}
	return r.runner.Do(true, func(tx TablesTx) error {
		count := 0
		for k := range s.n {
			first, there := s.firstOf(vars, k, nil)
			net, number := truth(there), first.Number
			for _, t := range r.tasks {
				of := &t.tables[table]
				if of.net != nil {
					net += int(of.net[k])
				}
				if of.moved != nil {
					number += of.moved[k]
				}
			}
			got, ok := tx.Get(table, s.key(int64(k)))
			switch {
			case s.counted() && (net < 0 || net > 1):
				return wrong(s.name(int64(k)), "was inserted and deleted so that there are %d of it", net)
			case s.counted() && ok != (net == 1):
				return wrong(s.name(int64(k)), "is there at the end: %t; by the committed operations: %t", ok,
					net == 1)
			case s.adds() && number != got.Number:
				return wrong(s.name(int64(k)), "has the number %d at the end; the committed operations "+
					"make it %d", got.Number, number)
			case !ok:
				continue
			}
			count++
			if s.size.Max > 0 {
				if err := checkFinal(seen, k, values.stamp(got.Bytes), true); err != nil {
					return wrongValue(s.name(int64(k)), &values, got.Bytes, true, err)
				}
			}
		}
		for k := int64(s.n); k < s.next.Load(); k++ {
			got, ok := tx.Get(table, s.key(k))
			switch {
			case ok:
				count++
			case !lost[k] && !s.Deletes:
				return wrong(s.name(k), "is absent at the end, but was inserted")
			}
			if !ok || s.size.Max == 0 {
				continue
			}
			if v := values.stamp(got.Bytes); stampWriter(v) == 0 || !keyMatches(v, int(k)) {
				return wrongValue(s.name(k), &values, got.Bytes, true,
					fmt.Errorf("holds %s at the end, which was not put there", describe(v)))
			}
		}
		if s.Grows {
			return r.verifyGrown(tx, table, &values, count)
		}
		all := 0
		tx.All(table, func(RecordKey, Record) { all++ })
		if all != count {
			return wrong(s.Name, "has %d records at the end, of which %d can be read by their keys", all,
				count)
		}
		return nil
	})
}

// verifyGrown looks at the records above those that there were at first, of a table that grows. Of
// these, which had count records, all have been looked at.
func (r *scriptRig) verifyGrown(tx TablesTx, table int, v *values[[]byte], count int) error {
	s := r.tables[table]
	grown, added := 0, int64(0)
	for _, t := range r.tasks {
		grown += t.tables[table].grown
		added += t.tables[table].added
	}
	all, above, sum := 0, 0, int64(0)
	var err error
	tx.All(table, func(key RecordKey, record Record) {
		all++
		if key.Number < int64(s.n) {
			return
		}
		above++
		sum += record.Number
		if s.size.Max == 0 {
			return
		}
		if v := v.stamp(record.Bytes); err == nil && (stampWriter(v) == 0 || !keyMatches(v, int(key.Number))) {
			err = wrong(s.name(key.Number), "holds %s at the end, which was not put there", describe(v))
		}
	})
	switch {
	case err != nil:
		return err
	case all-above != count:
		return wrong(s.Name, "has %d records with keys below %d at the end, of which %d can be read by their "+
			"keys", all-above, s.n, count)
	case s.counted() && above != grown:
		return wrong(s.Name, "has %d records with keys from %d on at the end; the committed operations make it "+
			"%d", above, s.n, grown)
	case s.counted() && s.adds() && sum != added:
		return wrong(s.Name, "has numbers with keys from %d on that sum up to %d at the end; the committed "+
			"operations make it %d", s.n, sum, added)
	}
	return nil
}

// counted reports whether it is known of each key how often it was inserted and deleted, and adds
// whether it is known of each number by how much it was changed.
func (s *scriptTable) counted() bool { return !s.Deletes || !s.Puts }
func (s *scriptTable) adds() bool    { return s.Number != nil && !s.Blind }

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// beginInvariants notes what the invariants are about at first, and checks that they are true then.
func (r *scriptRig) beginInvariants() error {
	first := make([]int64, len(r.file.Invariants))
	err := r.runner.Do(true, func(tx TablesTx) error {
		for i := range r.file.Invariants {
			first[i] = r.aggregate(tx, r.file.Invariants[i].Left)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.first = first
	err = (&invariantAuditor{rig: r, session: r.runner, all: true}).do()
	if v, ok := err.(*violation); ok {
		return fmt.Errorf("%s at first, as the file has it: %s", "an invariant is not true", v.detail)
	}
	return err
}

// invariantAuditor checks the invariants of a file in a snapshot.
type invariantAuditor struct {
	rig     *scriptRig
	session TablesSession
	all     bool // those that are looked at when all is over, too
}

func (a *invariantAuditor) do() error {
	return a.session.Do(true, func(tx TablesTx) error {
		for i := range a.rig.file.Invariants {
			v := &a.rig.file.Invariants[i]
			if v.AtEnd && !a.all {
				continue
			}
			left, right := a.rig.aggregate(tx, v.Left), a.rig.first[i]
			switch {
			case v.Right != nil:
				right = a.rig.aggregate(tx, *v.Right)
			case v.Equals != nil:
				right = v.Equals.Eval(a.rig.config.Workload.fileVars())
			}
			if left != right {
				return wrong("", "invariant: %s: %d is not %d", v.Text, left, right)
			}
		}
		return nil
	})
}

func (r *scriptRig) aggregate(tx TablesTx, a workfile.Aggregate) (sum int64) {
	for _, table := range a.Tables {
		tx.All(table, func(_ RecordKey, record Record) {
			if a.Kind == workfile.Count {
				sum++
			} else {
				sum += record.Number
			}
		})
	}
	return sum
}
