package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

const tableKeys = 1 << 14

// BenchmarkTables measures a transaction that reads and writes four keys: of a map by itself,
// and of 1, 2 and 4 tables of a database; and a view of four keys.
func BenchmarkTables(b *testing.B) {
	bg := context.Background()
	fill := func(m *mvcc.Map[uint64, uint64]) *mvcc.Map[uint64, uint64] {
		for k := range uint64(tableKeys) {
			m.Store(k, k)
		}
		return m
	}
	type table = mvcc.Map[uint64, uint64]
	update := func(of func(i int) mvcc.Tx[uint64, uint64], r *rand.Rand) error {
		for i := range 4 {
			tx, key := of(i), r.Uint64N(tableKeys)
			value, _ := tx.Get(key)
			tx.Set(key, value+1)
		}
		return nil
	}
	m := fill(mvcc.New[uint64, uint64](nil))
	defer m.Close()
	parallel(b, "update/map", func(r *rand.Rand) {
		_ = m.Update(bg, nil, func(tx mvcc.Tx[uint64, uint64]) error {
			return update(func(int) mvcc.Tx[uint64, uint64] { return tx }, r)
		})
	})
	parallel(b, "view/map", func(r *rand.Rand) {
		_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
			for range 4 {
				s.Get(r.Uint64N(tableKeys))
			}
			return nil
		})
	})
	for _, n := range []int{1, 2, 4} {
		db := mvcc.NewDB(nil)
		var tables []*table
		for i := range n {
			tables = append(tables, fill(mvcc.NewTable[uint64, uint64](db, fmt.Sprint("t", i), nil)))
		}
		parallel(b, fmt.Sprint("update/tables=", n), func(r *rand.Rand) {
			_ = db.Update(bg, nil, func(tx mvcc.DBTx) error {
				return update(func(i int) mvcc.Tx[uint64, uint64] { return tables[i%n].In(tx) }, r)
			})
		})
		parallel(b, fmt.Sprint("view/tables=", n), func(r *rand.Rand) {
			_ = db.View(func(s mvcc.DBSnapshot) error {
				for i := range 4 {
					tables[i%n].At(s).Get(r.Uint64N(tableKeys))
				}
				return nil
			})
		})
		db.Close()
	}
}

// parallel runs f again and again, as a benchmark of that name, in all goroutines.
func parallel(b *testing.B, name string, f func(r *rand.Rand)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for pb.Next() {
				f(r)
			}
		})
	})
}

// aging is a value that expires.
type aging struct{ until time.Time }

// BenchmarkExpire compares writes to a map whose records do not expire with those to one whose
// records do: of keys that are there, with a later time each, and of keys that are inserted and
// deleted.
func BenchmarkExpire(b *testing.B) {
	const keys = 10_000
	for _, name := range []string{"plain", "expiring"} {
		m := mvcc.New[int, aging](&mvcc.Options{Capacity: keys})
		if name == "expiring" {
			m.Expire(func(_ int, a aging) time.Time { return a.until })
		}
		later := func() aging { return aging{until: time.Now().Add(time.Hour)} }
		for k := range keys {
			m.Store(k, later())
		}
		parallel(b, "store/"+name, func(r *rand.Rand) { m.Store(r.IntN(keys), later()) })
		parallel(b, "insert-delete/"+name, func(r *rand.Rand) {
			key := keys + r.IntN(keys)
			m.Store(key, later())
			m.Delete(key)
		})
		m.Close()
	}
}

// BenchmarkSweep is the cost of the expiry of a record, when 10^5 expire at once.
func BenchmarkSweep(b *testing.B) {
	const keys = 100_000
	for b.Loop() {
		b.StopTimer()
		m := mvcc.New[int, aging](&mvcc.Options{ManualReclaim: true})
		m.Expire(func(_ int, a aging) time.Time { return a.until })
		for k := range keys {
			m.Store(k, aging{until: time.Unix(1, 0)})
		}
		b.StartTimer()
		require.NoError(b, m.Reclaim(b.Context()))
		require.Zero(b, m.Len())
		m.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/record")
}

// BenchmarkBackup saves and loads 10^6 records of a key of 8 to 15 bytes and a value of 64.
func BenchmarkBackup(b *testing.B) {
	const keys = 1_000_000
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[string, []byte](db, "records", &mvcc.TableOptions{Capacity: keys})
	for k := range keys {
		m.Store("record-"+strconv.Itoa(k), bytes.Repeat([]byte{byte(k)}, 64))
	}
	for _, c := range []durable.Codec{durable.Gob, durable.JSON} {
		var file bytes.Buffer
		b.Run("save/"+c.Name, func(b *testing.B) {
			for b.Loop() {
				file.Reset()
				_, err := durable.Save(b.Context(), db, &file, c, nil)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(file.Len())/keys, "B/record")
		})
		b.Run("load/"+c.Name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				to := mvcc.NewDB(nil)
				mvcc.NewTable[string, []byte](to, "records", nil)
				b.StartTimer()
				_, err := durable.Load(b.Context(), to, bytes.NewReader(file.Bytes()), c, nil)
				require.NoError(b, err)
				require.Equal(b, keys, to.Stats().Keys)
				to.Close()
			}
		})
	}
}

// BenchmarkWatch compares writes to a map without a watch with those to one that is watched by a
// loop that does nothing with the changes, and begins anew after a gap.
func BenchmarkWatch(b *testing.B) {
	const keys = 10_000
	for _, name := range []string{"unwatched", "watched", "watched-elsewhere"} {
		m := mvcc.New[uint64, uint64](&mvcc.Options{Capacity: keys})
		for k := range uint64(keys) {
			m.Store(k, k)
		}
		ctx, cancel := context.WithCancel(b.Context())
		follow := func() (err error) {
			opts := &mvcc.WatchOptions[uint64, uint64]{Buffer: 1 << 20}
			if name == "watched-elsewhere" {
				opts.Match = func(key uint64) bool { return key >= keys }
			}
			for _, err = range m.Watch(ctx, opts) {
				if err != nil {
					return err
				}
			}
			return err
		}
		ended := make(chan int)
		go func() {
			gaps := 0
			for name != "unwatched" && follow() != context.Canceled {
				gaps++
			}
			ended <- gaps
		}()
		parallel(b, "store/"+name, func(r *rand.Rand) { m.Store(r.Uint64N(keys), 1) })
		parallel(b, "transfer/"+name, func(r *rand.Rand) {
			from, to := r.Uint64N(keys), r.Uint64N(keys)
			_ = m.Update(ctx, nil, func(tx mvcc.Tx[uint64, uint64]) error {
				v, _ := tx.Get(from)
				w, _ := tx.Get(to)
				tx.Set(from, v-1)
				tx.Set(to, w+1)
				return nil
			})
		})
		cancel()
		if gaps := <-ended; gaps > 0 {
			b.Logf("%s: %d gaps", name, gaps)
		}
		m.Close()
	}
}
