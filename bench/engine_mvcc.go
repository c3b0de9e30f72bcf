package bench

import (
	"context"
	"errors"

	"github.com/mvccmap/mvccmap/mvcc"
)

// mvccEngine is the transactional map or, with several tables, a database of them.
type mvccEngine struct {
	db      *mvcc.DB // nil: one map
	tables  []mvccTable
	options *mvcc.TxOptions // of every Update; nil: the defaults
	Limits
}

// An mvccTable is a table, whatever its values are.
type mvccTable interface {
	// use returns the table in the transactions of a session.
	use(s *mvccSession) mvccUse
	stats() mvcc.Stats
	close()
}

type mvccMap[V value] struct{ m *mvcc.Map[int64, V] }

// mapOptions returns the options of the map of a setup.
func mapOptions(setup Setup) *mvcc.Options {
	o := setup.Options
	for _, t := range setup.Tables {
		o.Capacity = max(o.Capacity, len(t.Keys))
	}
	o.Isolation = mvcc.LevelSerializable
	if setup.Isolation == Snapshot {
		o.Isolation = mvcc.LevelSnapshot
	}
	return &o
}

func newMVCC(setup Setup) (Engine, error) {
	e := &mvccEngine{Limits: setup.Limits}
	options := mapOptions(setup)
	if len(setup.Tables) > 1 {
		e.db = mvcc.NewDB(options)
	}
	if setup.Attempts > 0 {
		e.options = &mvcc.TxOptions{MaxAttempts: setup.Attempts}
	}
	for _, t := range setup.Tables {
		if t.Numbers {
			e.tables = append(e.tables, mvccMap[int64]{openMap[int64](e.db, options, t)})
		} else {
			e.tables = append(e.tables, mvccMap[Record]{openMap[Record](e.db, options, t)})
		}
	}
	return e, nil
}

// openMap makes a table of a database or, if there is none, a map.
func openMap[V value](db *mvcc.DB, options *mvcc.Options, t TableSetup) (m *mvcc.Map[int64, V]) {
	of := &mvcc.TableOptions{Capacity: len(t.Keys)}
	switch {
	case db == nil && t.Ordered:
		m = mvcc.NewOrdered[int64, V](options)
	case db == nil:
		m = mvcc.New[int64, V](options)
	case t.Ordered:
		m = mvcc.NewOrderedTable[int64, V](db, t.Name, of)
	default:
		m = mvcc.NewTable[int64, V](db, t.Name, of)
	}
	for i, key := range t.Keys {
		m.Store(key, valueOf[V](t.Records[i]))
	}
	return m
}

func (e *mvccEngine) Close() {
	for _, t := range e.tables {
		t.close()
	}
	if e.db != nil {
		e.db.Close()
	}
}

// Versions implements [Versioner].
func (e *mvccEngine) Versions() int { return e.sources()[""]().Versions }

func (e *mvccEngine) sources() map[string]func() mvcc.Stats {
	if e.db != nil {
		return e.db.Sources("")
	}
	return map[string]func() mvcc.Stats{"": e.tables[0].stats}
}

func (t mvccMap[V]) stats() mvcc.Stats { return t.m.Stats() }
func (t mvccMap[V]) close()            { t.m.Close() }

// An mvccSession is its own [Access]. Its closures are made once.
type mvccSession struct {
	Attempts
	*mvccEngine
	uses     []mvccUse
	fn       func(Access) error
	attempt  func(mvcc.DBTx) error
	look     func(mvcc.DBSnapshot) error
	tx       mvcc.DBTx
	snapshot mvcc.DBSnapshot
	reading  bool // the session reads a snapshot, and does not use tx
}

// An mvccUse is a table in the transactions of a session.
type mvccUse interface {
	// leave says that the session has begun another transaction. The table joins that transaction
	// when the session first uses the table.
	leave()
	// view and update run a transaction of this map alone, and pin opens a snapshot of it.
	view() error
	update() error
	pin() (done func())

	// Access is for this table alone.
	Access
}

func (e *mvccEngine) Session(int) Session { return e.session() }

func (e *mvccEngine) session() *mvccSession {
	s := &mvccSession{mvccEngine: e}
	for _, t := range e.tables {
		s.uses = append(s.uses, t.use(s))
	}
	s.attempt = func(tx mvcc.DBTx) error {
		s.Tries++
		s.tx = tx
		s.leave()
		return s.fn(s)
	}
	s.look = func(sn mvcc.DBSnapshot) error {
		s.snapshot = sn
		s.leave()
		return s.fn(s)
	}
	return s
}

func (s *mvccSession) leave() {
	for _, u := range s.uses {
		u.leave()
	}
}

func (s *mvccSession) Do(readOnly bool, fn func(Access) error) error {
	s.fn, s.reading = fn, readOnly
	switch {
	case readOnly && s.db != nil:
		return s.db.View(s.look)
	case readOnly:
		return s.uses[0].view()
	}
	for {
		var err error
		if s.db != nil {
			err = s.db.Update(context.Background(), s.options, s.attempt)
		} else {
			err = s.uses[0].update()
		}
		switch {
		case err == nil || err == errRolledBack:
			s.Commits++ // or ended as it was to
			return err
		case !errors.Is(err, mvcc.ErrConflict):
			return err
		case s.options != nil:
			return ErrGaveUp
		case s.Stopped():
			return ErrStopped
		}
	}
}

// Pin implements [Pinner].
func (s *mvccSession) Pin() (Access, func(), error) {
	p := s.session()
	p.reading = true
	if s.db == nil {
		return p, p.uses[0].pin(), nil
	}
	p.snapshot = s.db.Snapshot()
	return p, p.snapshot.Close, nil
}

func (s *mvccSession) Get(table int, key int64) (Record, bool) { return s.uses[table].Get(0, key) }
func (s *mvccSession) Put(table int, key int64, r Record)      { s.uses[table].Put(0, key, r) }
func (s *mvccSession) Add(table int, key, delta int64)         { s.uses[table].Add(0, key, delta) }
func (s *mvccSession) Delete(table int, key int64)             { s.uses[table].Delete(0, key) }

func (s *mvccSession) Range(table int, low int64, visit func(key int64, r Record) bool) {
	s.uses[table].Range(0, low, visit)
}

func (s *mvccSession) All(table int, visit func(key int64, r Record)) { s.uses[table].All(0, visit) }

// mvccUseOf is an [mvccUse].
type mvccUseOf[V value] struct {
	m       *mvcc.Map[int64, V]
	s       *mvccSession
	joined  bool // tx or snapshot is of the transaction that the session has begun
	tx      mvcc.Tx[int64, V]
	sn      mvcc.Snapshot[int64, V]
	attempt func(mvcc.Tx[int64, V]) error
	look    func(mvcc.Snapshot[int64, V]) error
}

func (t mvccMap[V]) use(s *mvccSession) mvccUse {
	u := &mvccUseOf[V]{m: t.m, s: s}
	u.attempt = func(tx mvcc.Tx[int64, V]) error {
		s.Tries++
		u.tx, u.joined = tx, true
		return s.fn(u)
	}
	u.look = func(sn mvcc.Snapshot[int64, V]) error {
		u.sn, u.joined = sn, true
		return s.fn(u)
	}
	return u
}

func (u *mvccUseOf[V]) leave()      { u.joined = false }
func (u *mvccUseOf[V]) view() error { return u.m.View(u.look) }
func (u *mvccUseOf[V]) update() error {
	return u.m.Update(context.Background(), u.s.options, u.attempt)
}

func (u *mvccUseOf[V]) pin() func() {
	u.sn, u.joined = u.m.Snapshot(), true
	return u.sn.Close
}

// join makes the table take part in the transaction.
func (u *mvccUseOf[V]) join() {
	u.joined = true
	if u.s.reading {
		u.sn = u.m.At(u.s.snapshot)
	} else {
		u.tx = u.m.In(u.s.tx)
	}
}

func (u *mvccUseOf[V]) Get(_ int, key int64) (Record, bool) {
	if !u.joined {
		u.join()
	}
	if u.s.reading {
		v, ok := u.sn.Get(key)
		return recordOf(v), ok
	}
	v, ok := u.tx.Get(key)
	return recordOf(v), ok
}

// writes returns the transaction, to write to.
func (u *mvccUseOf[V]) writes() mvcc.Tx[int64, V] {
	if u.s.reading {
		panic("bench: a write in a transaction that only reads")
	}
	if !u.joined {
		u.join()
	}
	return u.tx
}

func (u *mvccUseOf[V]) Put(_ int, key int64, r Record) { u.writes().Set(key, valueOf[V](r)) }
func (u *mvccUseOf[V]) Delete(_ int, key int64)        { u.writes().Delete(key) }
func (u *mvccUseOf[V]) Add(_ int, key, delta int64) {
	u.writes().Merge(key, func(v V, _ bool) V { return plus(v, delta) })
}

func (u *mvccUseOf[V]) Range(_ int, low int64, visit func(key int64, r Record) bool) {
	if !u.joined {
		u.join()
	}
	of := mvcc.From(low)
	all := u.tx.Ascend
	if u.s.reading {
		all = u.sn.Ascend
	}
	for key, v := range all(of) {
		if !visit(key, recordOf(v)) {
			return
		}
	}
}

func (u *mvccUseOf[V]) All(_ int, visit func(key int64, r Record)) {
	if !u.joined {
		u.join()
	}
	all := u.tx.All
	if u.s.reading {
		all = u.sn.All
	}
	for key, v := range all() {
		visit(key, recordOf(v))
	}
}
