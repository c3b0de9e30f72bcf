package migrations_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A load of 10^6 records as they are, and with migrations: how long it takes, and the most memory
// that the heap has meanwhile, above what there was before (the backup itself). With a GOGC of 10
// that is little more than what is needed.
//
//	GOGC=10 go test -run '^$' -bench MigrateMillion -benchtime 1x ./internal/migrations
func BenchmarkMigrateMillion(b *testing.B) {
	type user1 struct{ Name, Mail string }
	type user2 struct{ FullName, Mail string }
	const n = 1_000_000
	saved := func() []byte {
		db := mvcc.NewDB(nil)
		defer db.Close()
		users := mvcc.NewTable[int, user1](db, "users", nil)
		for i := range n {
			users.Store(i, user1{fmt.Sprint("user number ", i), fmt.Sprint(i, "@example.org")})
		}
		var data bytes.Buffer
		_, err := db.Save(b.Context(), &data, codec.Gob, nil)
		require.NoError(b, err)
		return bytes.Clone(data.Bytes())
	}()
	for name, load := range map[string]func(db *mvcc.DB) *mvcc.LoadOptions{
		"as=is": func(db *mvcc.DB) *mvcc.LoadOptions {
			mvcc.NewTable[int, user1](db, "users", nil)
			return nil
		},
		"as=Migrate": func(db *mvcc.DB) *mvcc.LoadOptions {
			mvcc.NewTable[int, user2](db, "users", nil)
			return &mvcc.LoadOptions{Migrate: []mvcc.Migration{
				mvcc.Migrate("users", func(_ int, u user1) (user2, error) { return user2{u.Name, u.Mail}, nil })}}
		},
		"as=MigrateTo": func(db *mvcc.DB) *mvcc.LoadOptions {
			mvcc.NewTable[string, user2](db, "users", nil)
			return &mvcc.LoadOptions{Migrate: []mvcc.Migration{
				mvcc.MigrateTo("users", "users", func(_ int, u user1) (string, user2, error) {
					return u.Mail, user2{u.Name, u.Mail}, nil
				})}}
		},
	} {
		b.Run(name, func(b *testing.B) {
			most := uint64(0)
			for b.Loop() {
				db := mvcc.NewDB(nil)
				most = max(most, peakOf(func() {
					_, err := db.Load(b.Context(), bytes.NewReader(saved), codec.Gob, load(db))
					require.NoError(b, err)
				}))
				db.Close()
			}
			b.ReportMetric(float64(most)/1e6, "peak-MB")
		})
	}
}

// peakOf returns by how many bytes the heap has grown at most while do runs, objects that are not
// collected yet included.
func peakOf(do func()) (most uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before, ended, done := read(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.Tick(time.Millisecond); ; {
			if now := read(); now > before {
				most = max(most, now-before)
			}
			select {
			case <-ended:
				return
			case <-tick:
			}
		}
	}()
	do()
	close(ended)
	<-done
	return most
}
