package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/mvccmap/mvccmap/bench"
)

// engines returns the engines that keep things in a cluster.
func engines(c *cluster) []bench.EngineSpec {
	lacks := map[string]string{
		"journaled": "its members keep what is committed, and not this program",
		"expiring":  "its records are made without an end",
	}
	unwatched := maps.Clone(lacks)
	unwatched["watched"] = "its watch is not wrapped: etcd follows by one"
	return []bench.EngineSpec{
		{
			Name: "etcd",
			Doc: "Tables of module etcd, kept in a cluster: reads from memory, by View, and writes by " +
				"Update, one request each. Isolation: transactions that write are strictly serializable, " +
				"views see one revision",
			Lacks: lacks,
			New:   func(s bench.Setup[uint64]) (bench.Engine[uint64], error) { return newReplica(c, s) },
			NewBytes: func(s bench.Setup[[]byte]) (bench.Engine[[]byte], error) {
				return newReplica(c, s)
			},
		},
		{
			Name: "etcd-raw",
			Doc: "Keys of etcd, by requests that a program makes by hand: one that reads, and one that " +
				"compares and writes. Isolation: strictly serializable",
			Lacks: unwatched,
			New:   func(s bench.Setup[uint64]) (bench.Engine[uint64], error) { return newKeys(c, s, false) },
			NewBytes: func(s bench.Setup[[]byte]) (bench.Engine[[]byte], error) {
				return newKeys(c, s, false)
			},
		},
		{
			Name: "etcd-stm",
			Doc: "Keys of etcd, by the transactions of clientv3/concurrency, which read key by key; single " +
				"reads, ranges and snapshots by plain requests. Isolation: serializable at commit",
			Lacks: unwatched,
			New:   func(s bench.Setup[uint64]) (bench.Engine[uint64], error) { return newKeys(c, s, true) },
			NewBytes: func(s bench.Setup[[]byte]) (bench.Engine[[]byte], error) {
				return newKeys(c, s, true)
			},
		},
	}
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

// over returns why there is no further attempt, or nil.
func over(l *bench.Limits, attempts int) error {
	if attempts == 0 {
		return nil
	}
	return l.Over(attempts)
}

var errBatch = errors.New("etcdbench: unknown operation")
