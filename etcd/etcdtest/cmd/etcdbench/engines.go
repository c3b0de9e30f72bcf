package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/bench"
)

// engines returns the engines that keep things in a cluster.
func engines(c *cluster) []bench.EngineSpec {
	return []bench.EngineSpec{
		{
			Name: "etcd",
			Doc: "Tables of module etcd, kept in a cluster: reads from memory, by View, and writes by " +
				"Update, one request each. Isolation: transactions that write are strictly serializable, " +
				"views see one revision",
			New: func(s bench.Setup) (bench.Engine, error) { return newReplica(c, s) },
		},
		{
			Name: "etcd-raw",
			Doc: "Keys of etcd, by requests that a program makes by hand: some that read key by key, as of " +
				"one revision, and one that compares and writes. Isolation: strictly serializable",
			New: func(s bench.Setup) (bench.Engine, error) { return newKeys(c, s, false) },
		},
		{
			Name: "etcd-stm",
			Doc: "Keys of etcd, by the transactions of clientv3/concurrency, which read key by key; what " +
				"only reads by plain requests. Isolation: serializable at commit",
			New: func(s bench.Setup) (bench.Engine, error) { return newKeys(c, s, true) },
		},
	}
}

// recordText returns a record as it is kept.
func recordText(r bench.Record) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(r.Bytes)), uint64(r.Number))
	return string(append(b, r.Bytes...))
}

func recordOf(b []byte) (r bench.Record, err error) {
	if len(b) < 8 {
		return r, fmt.Errorf("a record of %d bytes", len(b))
	}
	r.Number = int64(binary.BigEndian.Uint64(b))
	if len(b) > 8 {
		r.Bytes = b[8:]
	}
	return r, nil
}

// over returns why there is no further attempt, or nil.
func over(l *bench.Limits, attempts int) error {
	if attempts == 0 {
		return nil
	}
	return l.Over(attempts)
}

var (
	errReads = errors.New("etcdbench: a write in a transaction that only reads")
	errRange = errors.New("etcdbench: a range in a transaction that writes; expected View")
)
