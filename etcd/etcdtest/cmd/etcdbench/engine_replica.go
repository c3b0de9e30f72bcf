package main

import (
	"cmp"
	"errors"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A replicaEngine is module etcd: one replica for all goroutines, as a process has it.
type replicaEngine struct {
	at     *place
	db     *etcd.DB
	tables []*etcd.Table[int64, bench.Record]
	bench.Limits
}

func newReplica(c *cluster, setup bench.Setup) (bench.Engine, error) {
	at, err := c.place()
	if err != nil {
		return nil, err
	}
	e := &replicaEngine{at: at, Limits: setup.Limits}
	schema := etcd.NewSchema(nil)
	options := &etcd.TableOptions[int64, bench.Record]{Codec: "etcdbench", Decode: recordOf,
		Encode: func(r bench.Record) ([]byte, error) { return []byte(recordText(r)), nil }}
	for _, t := range setup.Tables {
		if t.Ordered {
			e.tables = append(e.tables, etcd.NewOrderedTable(schema, t.Name, options))
		} else {
			e.tables = append(e.tables, etcd.NewTable(schema, t.Name, options))
		}
	}
	if e.db, err = open(at, schema, setup.Attempts); err != nil {
		return nil, err
	}
	for i := range setup.Tables {
		t := &setup.Tables[i]
		err = cmp.Or(err, fill(len(t.Keys), func(low, high int) error {
			return e.db.Update(c.ctx, func(tx mvcc.DBTx) error {
				for k := low; k < high; k++ {
					e.tables[i].In(tx).Set(t.Keys[k], t.Records[k])
				}
				return nil
			})
		}))
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Close implements [bench.Engine].
func (e *replicaEngine) Close() {
	_ = e.db.Close()
	e.at.clear()
}

// Versions implements [bench.Versioner].
func (e *replicaEngine) Versions() int { return e.db.Sources("")[""]().Versions }

// Session implements [bench.Engine].
func (e *replicaEngine) Session(int) bench.Session { return &replicaSession{replicaEngine: e} }

type replicaSession struct {
	bench.Attempts
	*replicaEngine
}

// Do implements [bench.Session].
func (s *replicaSession) Do(readOnly bool, fn func(tx bench.Access) error) error {
	if readOnly {
		return s.db.View(func(sn mvcc.DBSnapshot) error { return fn(replicaView{s.tables, sn}) })
	}
	for {
		err := s.db.Update(s.at.cluster.ctx, func(tx mvcc.DBTx) error {
			s.Tries++
			return fn(replicaTx{s.tables, tx})
		})
		switch {
		case err == nil || err == bench.ErrRollBack:
			s.Commits++
			return err
		case !errors.Is(err, mvcc.ErrConflict):
			return err
		case s.Limits.Attempts > 0:
			return bench.ErrGaveUp
		case s.Stopped():
			return bench.ErrStopped
		}
	}
}

// Pin implements [bench.Pinner].
func (s *replicaSession) Pin() (bench.Access, func(), error) {
	sn := s.db.Snapshot()
	return replicaView{s.tables, sn}, sn.Close, nil
}

// A replicaView only reads.
type replicaView struct {
	tables []*etcd.Table[int64, bench.Record]
	sn     mvcc.DBSnapshot
}

func (v replicaView) Get(table int, key int64) (bench.Record, bool) {
	return v.tables[table].At(v.sn).Get(key)
}

func (v replicaView) Put(int, int64, bench.Record) { panic(errReads) }
func (v replicaView) Add(int, int64, int64)        { panic(errReads) }
func (v replicaView) Delete(int, int64)            { panic(errReads) }

func (v replicaView) Range(table int, low int64, visit func(int64, bench.Record) bool) {
	v.tables[table].At(v.sn).Ascend(mvcc.From(low))(visit)
}

func (v replicaView) All(table int, visit func(int64, bench.Record)) {
	for key, r := range v.tables[table].At(v.sn).All() {
		visit(key, r)
	}
}

// A replicaTx is a transaction that writes.
type replicaTx struct {
	tables []*etcd.Table[int64, bench.Record]
	tx     mvcc.DBTx
}

func (t replicaTx) Get(table int, key int64) (bench.Record, bool) {
	return t.tables[table].In(t.tx).Get(key)
}

func (t replicaTx) Put(table int, key int64, r bench.Record) { t.tables[table].In(t.tx).Set(key, r) }
func (t replicaTx) Delete(table int, key int64)              { t.tables[table].In(t.tx).Delete(key) }

func (t replicaTx) Add(table int, key, delta int64) {
	t.tables[table].In(t.tx).Merge(key, func(r bench.Record, _ bool) bench.Record {
		r.Number += delta
		return r
	})
}

func (t replicaTx) Range(table int, low int64, visit func(int64, bench.Record) bool) {
	t.tables[table].In(t.tx).Ascend(mvcc.From(low))(visit)
}

func (t replicaTx) All(table int, visit func(int64, bench.Record)) {
	for key, r := range t.tables[table].In(t.tx).All() {
		visit(key, r)
	}
}
