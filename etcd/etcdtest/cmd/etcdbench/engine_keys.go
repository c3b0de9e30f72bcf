package main

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/mvccmap/mvccmap/bench"
)

// A keyspace is keys of etcd, used by its own client: by requests that compare and write, or by the
// transactions of package concurrency.
type keyspace[V any] struct {
	at  *place
	ctx context.Context
	stm bool
	bench.Limits
}

func newKeys[V any](c *cluster, setup bench.Setup[V], stm bool) (bench.Engine[V], error) {
	at, err := c.place()
	if err != nil {
		return nil, err
	}
	e := &keyspace[V]{at: at, ctx: c.ctx, stm: stm, Limits: setup.Limits}
	err = fill(len(setup.Keys), func(low, high int) error {
		var puts []clientv3.Op
		for i := low; i < high; i++ {
			puts = append(puts, e.put(setup.Keys[i], setup.Values[i]))
		}
		_, err := at.client.Txn(c.ctx).Then(puts...).Commit()
		return err
	})
	if err != nil {
		at.clear()
		return nil, err
	}
	return e, nil
}

// Close implements [bench.Engine].
func (e *keyspace[V]) Close() { e.at.clear() }

func (e *keyspace[V]) put(key string, value V) clientv3.Op {
	return clientv3.OpPut(e.at.prefix+key, string(bytesOf(value)))
}

func (e *keyspace[V]) Session(int) bench.Session[V] {
	if e.stm {
		return &stmSession[V]{keysSession[V]{keyspace: e}}
	}
	return &keysSession[V]{keyspace: e}
}

// A keysSession makes requests by hand.
type keysSession[V any] struct {
	bench.Attempts
	*keyspace[V]
}

func (s *keysSession[V]) Get(key string) (value V, ok bool, err error) {
	return s.get(key)
}

func (s *keysSession[V]) get(key string, opts ...clientv3.OpOption) (value V, ok bool, err error) {
	resp, err := s.at.client.Get(s.ctx, s.at.prefix+key, opts...)
	if err != nil || len(resp.Kvs) == 0 {
		return value, false, err
	}
	value, err = valueOf[V](resp.Kvs[0].Value)
	return value, err == nil, err
}

func (s *keysSession[V]) Put(key string, value V) error {
	_, err := s.at.client.Put(s.ctx, s.at.prefix+key, string(bytesOf(value)))
	return err
}

// Begin implements [bench.Beginner]: an empty transaction is a request, too.
func (s *keysSession[V]) Begin() error {
	_, err := s.at.client.Txn(s.ctx).Commit()
	return err
}

// read reads keys as of one moment.
func (s *keysSession[V]) read(keys []string) (map[string]*mvccpb.KeyValue, error) {
	found := map[string]*mvccpb.KeyValue{}
	var gets []clientv3.Op
	for _, key := range keys {
		gets = append(gets, clientv3.OpGet(s.at.prefix+key))
	}
	resp, err := s.at.client.Txn(s.ctx).Then(gets...).Commit()
	if err != nil {
		return nil, err
	}
	for i, r := range resp.Responses {
		if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
			found[keys[i]] = kvs[0]
		}
	}
	return found, nil
}

// transact reads keys, and writes what make returns for them, if they still are what they were;
// otherwise it does so again.
func (s *keysSession[V]) transact(
	keys []string, make func(found map[string]*mvccpb.KeyValue) ([]clientv3.Op, error),
) error {
	for attempts := 0; ; attempts++ {
		if err := over(&s.Limits, attempts); err != nil {
			return err
		}
		s.Tries++
		found, err := s.read(keys)
		if err != nil {
			return err
		}
		writes, err := make(found)
		if err != nil {
			return err
		}
		var same []clientv3.Cmp
		for _, key := range keys {
			rev := int64(0)
			if kv := found[key]; kv != nil {
				rev = kv.ModRevision
			}
			same = append(same, clientv3.Compare(clientv3.ModRevision(s.at.prefix+key), "=", rev))
		}
		resp, err := s.at.client.Txn(s.ctx).If(same...).Then(writes...).Commit()
		if err != nil {
			return err
		}
		if resp.Succeeded {
			s.Commits++
			return nil
		}
	}
}

// Batch implements [bench.Batcher]. It reads what is asked for, and adds up what is written.
func (s *keysSession[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	if readOnly {
		return s.look(ops)
	}
	return s.transact(reads(ops), func(found map[string]*mvccpb.KeyValue) ([]clientv3.Op, error) {
		b := &batch[V]{values: map[string]*V{}, written: map[string]bool{}}
		for key, kv := range found {
			v, err := valueOf[V](kv.Value)
			if err != nil {
				return nil, err
			}
			b.values[key] = &v
		}
		b.do(ops)
		var writes []clientv3.Op
		for key := range b.written {
			if v := b.values[key]; v != nil {
				writes = append(writes, s.put(key, *v))
			} else {
				writes = append(writes, clientv3.OpDelete(s.at.prefix+key))
			}
		}
		return writes, nil
	})
}

// look reads what ops ask for, as of one moment.
func (s *keysSession[V]) look(ops []bench.Op[V]) error {
	found, err := s.read(reads(ops))
	if err != nil {
		return err
	}
	for i := range ops {
		kv := found[ops[i].Key]
		if ops[i].OK = kv != nil; kv == nil {
			continue
		}
		if ops[i].Old, err = valueOf[V](kv.Value); err != nil {
			return err
		}
	}
	return nil
}

// reads returns the keys that ops read, each once.
func reads[V any](ops []bench.Op[V]) (keys []string) {
	seen := map[string]bool{}
	for i := range ops {
		op := &ops[i]
		if (op.Kind == bench.OpGet || op.Kind == bench.OpHas || op.Kind == bench.OpModify) && !seen[op.Key] {
			seen[op.Key] = true
			keys = append(keys, op.Key)
		}
	}
	return keys
}

// A batch is operations on a copy of what was read.
type batch[V any] struct {
	values  map[string]*V
	written map[string]bool
}

func (b *batch[V]) do(ops []bench.Op[V]) {
	for i := range ops {
		op := &ops[i]
		if op.Kind == bench.OpGet || op.Kind == bench.OpHas || op.Kind == bench.OpModify {
			v := b.values[op.Key]
			if op.OK = v != nil; v != nil {
				op.Old = *v
			}
		}
		switch op.Kind {
		case bench.OpPut, bench.OpModify:
			v := op.Value
			b.values[op.Key], b.written[op.Key] = &v, true
		case bench.OpDelete:
			b.values[op.Key], b.written[op.Key] = nil, true
		}
	}
}

// Add implements [bench.Incrementer].
func (s *keysSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.transact([]string{key}, func(found map[string]*mvccpb.KeyValue) ([]clientv3.Op, error) {
		v, err := number(found[key])
		sum = v + delta
		return []clientv3.Op{clientv3.OpPut(s.at.prefix+key, string(bytesOf(sum)))}, err
	})
	return sum, err
}

// Transfer implements [bench.Transferer].
func (s *keysSession[V]) Transfer(from, to string, amount uint64) error {
	return s.transact([]string{from, to}, func(found map[string]*mvccpb.KeyValue) ([]clientv3.Op, error) {
		a, err := number(found[from])
		b, other := number(found[to])
		return []clientv3.Op{clientv3.OpPut(s.at.prefix+from, string(bytesOf(a-amount))),
			clientv3.OpPut(s.at.prefix+to, string(bytesOf(b+amount)))}, errors.Join(err, other)
	})
}

func number(kv *mvccpb.KeyValue) (uint64, error) {
	if kv == nil {
		return 0, nil
	}
	return valueOf[uint64](kv.Value)
}

// Sum implements [bench.Transferer], by one request.
func (s *keysSession[V]) Sum() (total uint64, keys int, err error) {
	resp, err := s.at.client.Get(s.ctx, s.at.prefix, clientv3.WithPrefix())
	if err != nil {
		return 0, 0, err
	}
	for _, kv := range resp.Kvs {
		v, err := number(kv)
		if err != nil {
			return 0, 0, err
		}
		total += v
	}
	return total, len(resp.Kvs), nil
}

// Range implements [bench.Ranger].
func (s *keysSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	resp, err := s.at.client.Get(s.ctx, s.at.prefix+low,
		clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.at.prefix)), clientv3.WithLimit(int64(n)))
	if err != nil {
		return err
	}
	for _, kv := range resp.Kvs {
		v, err := valueOf[V](kv.Value)
		if err != nil {
			return err
		}
		visit(string(kv.Key[len(s.at.prefix):]), v)
	}
	return nil
}

// Pin implements [bench.Pinner]: a revision, which is not compacted meanwhile.
func (s *keysSession[V]) Pin() (bench.Pin[V], error) {
	resp, err := s.at.client.Get(s.ctx, s.at.prefix, clientv3.WithCountOnly())
	if err != nil {
		return nil, err
	}
	return &keysPin[V]{s, resp.Header.Revision}, nil
}

type keysPin[V any] struct {
	s   *keysSession[V]
	rev int64
}

func (p *keysPin[V]) Get(key string) (V, bool, error) { return p.s.get(key, clientv3.WithRev(p.rev)) }
func (p *keysPin[V]) Close()                          {}

// An stmSession writes by transactions of package concurrency.
type stmSession[V any] struct{ keysSession[V] }

// atomically runs fn until it has committed.
func (s *stmSession[V]) atomically(fn func(tx concurrency.STM) error) error {
	attempts := 0
	err := atomically(s.ctx, s.at.client, func(tx concurrency.STM) error {
		if err := over(&s.Limits, attempts); err != nil {
			return err
		}
		attempts++
		s.Tries++
		return fn(tx)
	})
	if err == nil {
		s.Commits++
	}
	return err
}

// atomically runs a transaction of package concurrency. It begins again after an error that says that
// a member is behind: its reads after the first one ask any member for the revision of that (etcd
// issue 11963).
func atomically(ctx context.Context, client *clientv3.Client, fn func(tx concurrency.STM) error) error {
	for {
		_, err := concurrency.NewSTM(client, fn, concurrency.WithAbortContext(ctx))
		if !errors.Is(err, rpctypes.ErrFutureRev) {
			return err
		}
	}
}

func (s *stmSession[V]) Put(key string, value V) error {
	return s.atomically(func(tx concurrency.STM) error {
		tx.Put(s.at.prefix+key, string(bytesOf(value)))
		return nil
	})
}

// Batch implements [bench.Batcher].
func (s *stmSession[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	if readOnly {
		return s.look(ops)
	}
	return s.atomically(func(tx concurrency.STM) error {
		for i := range ops {
			op := &ops[i]
			key := s.at.prefix + op.Key
			switch op.Kind {
			case bench.OpGet, bench.OpHas, bench.OpModify:
				// Get returns "" for a key that is absent, and no value is empty.
				text := tx.Get(key)
				if op.OK = text != ""; op.OK {
					var err error
					if op.Old, err = valueOf[V]([]byte(text)); err != nil {
						return err
					}
				}
			case bench.OpPut, bench.OpDelete:
			default:
				return fmt.Errorf("%w: %v", errBatch, op.Kind)
			}
			switch op.Kind {
			case bench.OpPut, bench.OpModify:
				tx.Put(key, string(bytesOf(op.Value)))
			case bench.OpDelete:
				tx.Del(key)
			}
		}
		return nil
	})
}

func (s *stmSession[V]) number(tx concurrency.STM, key string) (uint64, error) {
	return valueOf[uint64]([]byte(tx.Get(s.at.prefix + key)))
}

// Add implements [bench.Incrementer].
func (s *stmSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.atomically(func(tx concurrency.STM) error {
		v, err := s.number(tx, key)
		sum = v + delta
		tx.Put(s.at.prefix+key, string(bytesOf(sum)))
		return err
	})
	return sum, err
}

// Transfer implements [bench.Transferer].
func (s *stmSession[V]) Transfer(from, to string, amount uint64) error {
	return s.atomically(func(tx concurrency.STM) error {
		a, err := s.number(tx, from)
		b, other := s.number(tx, to)
		tx.Put(s.at.prefix+from, string(bytesOf(a-amount)))
		tx.Put(s.at.prefix+to, string(bytesOf(b+amount)))
		return errors.Join(err, other)
	})
}
