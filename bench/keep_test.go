package bench

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

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

// BenchmarkSweep is what the expiry of a record costs, when 10^5 expire at once.
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
	for _, c := range []mvcc.Codec{codec.Gob, codec.JSON} {
		var file bytes.Buffer
		b.Run("save/"+c.Name, func(b *testing.B) {
			for b.Loop() {
				file.Reset()
				_, err := db.Save(b.Context(), &file, c, nil)
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
				_, err := to.Load(b.Context(), bytes.NewReader(file.Bytes()), c, nil)
				require.NoError(b, err)
				require.Equal(b, keys, to.Stats().Keys)
				to.Close()
			}
		})
	}
}
