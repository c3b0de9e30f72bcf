package main

import (
	"context"
	"errors"
	"iter"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A replica is module etcd: one replica for all goroutines, as a process has it.
type replica[V any] struct {
	at      *place
	db      *etcd.DB
	table   *etcd.Table[string, V]
	numbers *etcd.Table[string, uint64] // table, if values are numbers
	bench.Limits
}

func openReplica[V any](at *place, ordered bool, attempts int) (*replica[V], error) {
	s := etcd.NewSchema(nil)
	options := &etcd.TableOptions[string, V]{Codec: "etcdbench",
		Encode: func(v V) ([]byte, error) { return bytesOf(v), nil }, Decode: valueOf[V]}
	r := &replica[V]{at: at}
	if ordered {
		r.table = etcd.NewOrderedTable(s, "table", options)
	} else {
		r.table = etcd.NewTable(s, "table", options)
	}
	r.numbers, _ = any(r.table).(*etcd.Table[string, uint64])
	ctx, cancel := context.WithTimeout(at.cluster.ctx, patience)
	defer cancel()
	endpoints := at.endpoints
	if endpoints == nil {
		endpoints = at.client.Endpoints()
	}
	var err error
	r.db, err = etcd.Open(ctx, etcd.Config{Prefix: at.prefix, Schema: s, MaxAttempts: attempts,
		MaxTxnOps: int(at.cluster.MaxTxnOps), Client: clientv3.Config{Endpoints: endpoints}})
	return r, err
}

func newReplica[V any](c *cluster, setup bench.Setup[V]) (bench.Engine[V], error) {
	at, err := c.place()
	if err != nil {
		return nil, err
	}
	r, err := openReplica[V](at, setup.Ordered, setup.Attempts)
	if err != nil {
		return nil, err
	}
	r.Limits = setup.Limits
	err = fill(len(setup.Keys), func(low, high int) error {
		return r.db.Update(c.ctx, func(tx mvcc.DBTx) error {
			for i := low; i < high; i++ {
				r.table.In(tx).Set(setup.Keys[i], setup.Values[i])
			}
			return nil
		})
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close implements [bench.Engine].
func (r *replica[V]) Close() {
	_ = r.db.Close()
	r.at.clear()
}

// Versions implements [bench.Versioner].
func (r *replica[V]) Versions() int { return r.db.Sources("")[""]().Versions }

func (r *replica[V]) Session(int) bench.Session[V] { return &replicaSession[V]{replica: r} }

type replicaSession[V any] struct {
	bench.Attempts
	*replica[V]
}

// update runs fn, which counts its runs in s.Tries, until it has committed.
func (s *replicaSession[V]) update(fn func(tx mvcc.DBTx) error) error {
	for {
		err := s.db.Update(s.at.cluster.ctx, fn)
		switch {
		case err == nil:
			s.Commits++
			return nil
		case !errors.Is(err, mvcc.ErrConflict):
			return err
		case s.Limits.Attempts > 0:
			return bench.ErrGaveUp
		case s.Stopped():
			return bench.ErrStopped
		}
	}
}

func (s *replicaSession[V]) Get(key string) (value V, ok bool, err error) {
	err = s.db.View(func(sn mvcc.DBSnapshot) error {
		value, ok = s.table.At(sn).Get(key)
		return nil
	})
	return value, ok, err
}

func (s *replicaSession[V]) Put(key string, value V) error {
	return s.update(func(tx mvcc.DBTx) error {
		s.Tries++
		s.table.In(tx).Set(key, value)
		return nil
	})
}

// Begin implements [bench.Beginner].
func (s *replicaSession[V]) Begin() error {
	return s.db.View(func(mvcc.DBSnapshot) error { return nil })
}

// Batch implements [bench.Batcher].
func (s *replicaSession[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	if readOnly {
		return s.db.View(func(sn mvcc.DBSnapshot) error {
			at := s.table.At(sn)
			for i := range ops {
				ops[i].Old, ops[i].OK = at.Get(ops[i].Key)
			}
			return nil
		})
	}
	return s.update(func(tx mvcc.DBTx) error {
		s.Tries++
		in := s.table.In(tx)
		for i := range ops {
			op := &ops[i]
			switch op.Kind {
			case bench.OpGet, bench.OpHas:
				op.Old, op.OK = in.Get(op.Key)
			case bench.OpPut:
				in.Set(op.Key, op.Value)
			case bench.OpModify:
				op.Old, op.OK = in.Get(op.Key)
				in.Set(op.Key, op.Value)
			case bench.OpDelete:
				in.Delete(op.Key)
			default:
				return errBatch
			}
		}
		return nil
	})
}

// Add implements [bench.Incrementer], by Merge. Its function may run several times, and what it has
// returned last is what was committed.
func (s *replicaSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.update(func(tx mvcc.DBTx) error {
		s.Tries++
		s.numbers.In(tx).Merge(key, func(old uint64, _ bool) uint64 {
			sum = old + delta
			return sum
		})
		return nil
	})
	return sum, err
}

// Transfer implements [bench.Transferer].
func (s *replicaSession[V]) Transfer(from, to string, amount uint64) error {
	return s.update(func(tx mvcc.DBTx) error {
		s.Tries++
		in := s.numbers.In(tx)
		a, _ := in.Get(from)
		b, _ := in.Get(to)
		in.Set(from, a-amount)
		in.Set(to, b+amount)
		return nil
	})
}

func (s *replicaSession[V]) Sum() (total uint64, keys int, err error) {
	err = s.db.View(func(sn mvcc.DBSnapshot) error {
		for _, v := range s.numbers.At(sn).All() {
			total += v
			keys++
		}
		return nil
	})
	return total, keys, err
}

// Range implements [bench.Ranger].
func (s *replicaSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	return s.db.View(func(sn mvcc.DBSnapshot) error {
		for key, value := range s.table.At(sn).Ascend(mvcc.From(low)) {
			visit(key, value)
			if n--; n <= 0 {
				break
			}
		}
		return nil
	})
}

// Pin implements [bench.Pinner].
func (s *replicaSession[V]) Pin() (bench.Pin[V], error) {
	return replicaPin[V]{s.db.Snapshot(), s.table}, nil
}

type replicaPin[V any] struct {
	s     mvcc.DBSnapshot
	table *etcd.Table[string, V]
}

func (p replicaPin[V]) Get(key string) (V, bool, error) {
	v, ok := p.table.At(p.s).Get(key)
	return v, ok, nil
}

func (p replicaPin[V]) Close() { p.s.Close() }

// Follow implements [bench.Follower].
func (s *replicaSession[V]) Follow(
	ctx context.Context, begin func(all iter.Seq2[string, uint64]),
	commit func(all []mvcc.Change[string, uint64]) error,
) error {
	err := s.db.Follow(ctx, nil, func(sn mvcc.DBSnapshot) error {
		begin(s.numbers.At(sn).All())
		return nil
	}, func(c mvcc.DBCommit) error {
		if changes := s.numbers.Changes(c); len(changes) > 0 {
			return commit(slices.Clone(changes))
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
