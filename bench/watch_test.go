package bench

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/mvccmap/mvccmap/mvcc"
)

// BenchmarkWatch compares writes to a map without a watch with those to one that is watched by a
// loop that does nothing with what it gets, and begins anew after a gap.
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
