package main

import (
	"context"
	"encoding/binary"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A replica is one of module etcd with one table, as a process has it.
type replica[V any] struct {
	at    *place
	db    *etcd.DB
	table *etcd.Table[string, V]
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
	var err error
	r.db, err = open(at, s, attempts)
	return r, err
}

// open opens a replica of a schema.
func open(at *place, s *etcd.Schema, attempts int) (*etcd.DB, error) {
	ctx, cancel := context.WithTimeout(at.cluster.ctx, patience)
	defer cancel()
	endpoints := at.endpoints
	if endpoints == nil {
		endpoints = at.client.Endpoints()
	}
	return etcd.Open(ctx, etcd.Config{Prefix: at.prefix, Schema: s, MaxAttempts: attempts,
		MaxTxnOps: int(at.cluster.MaxTxnOps), Client: clientv3.Config{Endpoints: endpoints}})
}

// transfer moves an amount, and increment counts one up by Merge.
func transfer(r *replica[uint64], from, to string, amount uint64) error {
	return r.db.Update(r.at.cluster.ctx, func(tx mvcc.DBTx) error {
		in := r.table.In(tx)
		a, _ := in.Get(from)
		b, _ := in.Get(to)
		in.Set(from, a-amount)
		in.Set(to, b+amount)
		return nil
	})
}

func increment(r *replica[uint64], key string) error {
	return r.db.Update(r.at.cluster.ctx, func(tx mvcc.DBTx) error {
		r.table.In(tx).Merge(key, func(old uint64, _ bool) uint64 { return old + 1 })
		return nil
	})
}

// bytesOf returns a value, which is a number or bytes, as it is kept.
func bytesOf[V any](v V) []byte {
	if n, ok := any(v).(uint64); ok {
		return binary.BigEndian.AppendUint64(nil, n)
	}
	return any(v).([]byte)
}

func valueOf[V any](b []byte) (v V, err error) {
	switch v := any(&v).(type) {
	case *uint64:
		if len(b) != 8 {
			return *any(v).(*V), fmt.Errorf("a number of %d bytes", len(b))
		}
		*v = binary.BigEndian.Uint64(b)
	case *[]byte:
		*v = b
	}
	return v, nil
}
