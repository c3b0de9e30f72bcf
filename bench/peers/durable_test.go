package peers

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// BenchmarkDurable stores a value of 100 bytes under one of 10^4 keys, and is done when that is
// on disk: with 1, 16 and 256 goroutines that do so. Each store waits by itself.
func BenchmarkDurable(b *testing.B) {
	const keys = 10_000
	value := bytes.Repeat([]byte{'x'}, 100)
	for name, open := range map[string]func(b *testing.B,
		goroutines int) (store func(key string) error, close func() error){
		"mvcc": func(b *testing.B, _ int) (func(string) error, func() error) {
			db := mvcc.NewDB(nil)
			m := mvcc.NewTable[string, []byte](db, "records", nil)
			j, err := durable.Open(b.Context(), db, b.TempDir(), nil)
			require.NoError(b, err)
			return func(key string) error {
					m.Store(key, value)
					return j.Sync(b.Context())
				}, func() error {
					defer db.Close()
					return j.Close()
				}
		},
		"bbolt": func(b *testing.B, goroutines int) (func(string) error, func() error) {
			db, err := bbolt.Open(filepath.Join(b.TempDir(), "db"), 0o600,
				&bbolt.Options{FreelistType: bbolt.FreelistMapType})
			require.NoError(b, err)
			require.NoError(b, db.Update(func(tx *bbolt.Tx) error {
				_, err := tx.CreateBucket(bboltBucket)
				return err
			}))
			if db.MaxBatchDelay = 0; goroutines > 1 { // one that is alone need not wait for others
				db.MaxBatchDelay = time.Millisecond // the best of 0, 1 and 10 ms
			}
			return func(key string) error {
				return db.Batch(func(tx *bbolt.Tx) error {
					return tx.Bucket(bboltBucket).Put([]byte(key), value)
				})
			}, db.Close
		},
		"badger": func(b *testing.B, _ int) (func(string) error, func() error) {
			db, err := badger.Open(badger.DefaultOptions(b.TempDir()).WithSyncWrites(true).WithLogger(nil))
			require.NoError(b, err)
			return func(key string) error {
				return db.Update(func(tx *badger.Txn) error { return tx.Set([]byte(key), value) })
			}, db.Close
		},
	} {
		for _, goroutines := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", name, goroutines), func(b *testing.B) {
				store, shut := open(b, goroutines)
				spread(b, goroutines, func(r *rand.Rand) error {
					return store("record-" + strconv.Itoa(r.IntN(keys)))
				})
				b.StopTimer()
				require.NoError(b, shut())
			})
		}
	}
}

// spread runs f b.N times in all, in so many goroutines.
func spread(b *testing.B, goroutines int, f func(r *rand.Rand) error) {
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	errs := make(chan error, goroutines)
	b.ResetTimer()
	for range goroutines {
		go func() {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for range left {
				if err := f(r); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range goroutines {
		require.NoError(b, <-errs)
	}
}
