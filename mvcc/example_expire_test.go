package mvcc_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A lease that is over goes, and its job is back in the queue, in one commit.
func ExampleMap_OnExpire() {
	type lease struct {
		worker string
		until  time.Time
	}
	db := mvcc.NewDB(&mvcc.Options{ManualReclaim: true})
	defer db.Close()
	leases := mvcc.NewTable[int, lease](db, "leases", nil)
	queue := mvcc.NewTable[int, string](db, "queue", nil)
	leases.OnExpire(func(tx mvcc.DBTx, job int, l lease) error {
		queue.In(tx).Set(job, "lost by "+l.worker)
		return nil
	})
	leases.Expire(func(_ int, l lease) time.Time { return l.until })

	leases.Store(7, lease{"bob", time.Now().Add(-time.Second)})
	leases.Store(8, lease{"ada", time.Now().Add(time.Hour)})
	_ = db.Reclaim(context.Background())
	for job, why := range queue.All() {
		fmt.Println(job, why, leases.Has(job))
	}
	// Output: 7 lost by bob false
}

// Lasting is a value with the time until which it lasts.
type Lasting[V any] struct {
	Value V
	Until time.Time
}

// For returns a value that lasts for d.
func For[V any](v V, d time.Duration) Lasting[V] { return Lasting[V]{v, time.Now().Add(d)} }

// Touch has a record last for d from now on, if it is there.
func Touch[K comparable, V any](m *mvcc.Map[K, Lasting[V]], key K, d time.Duration) (ok bool) {
	_, ok = m.Compute(key, func(old Lasting[V], ok bool) (Lasting[V], mvcc.ComputeOp) {
		if !ok {
			return old, mvcc.CancelOp
		}
		return For(old.Value, d), mvcc.UpdateOp
	})
	return ok
}

// A time that is given with the write is a field of the value. So transactions, snapshots, backups
// and journals have it, and a map that does not need it pays nothing.
func ExampleMap_Expire_touch() {
	cache := mvcc.New[string, Lasting[int]](&mvcc.Options{ManualReclaim: true})
	defer cache.Close()
	cache.Expire(func(_ string, l Lasting[int]) time.Time { return l.Until })

	cache.Store("a", For(1, time.Millisecond))
	cache.Store("b", For(2, time.Millisecond))
	fmt.Println(Touch(cache, "a", time.Hour), Touch(cache, "c", time.Hour))
	time.Sleep(3 * time.Millisecond)
	_ = cache.Reclaim(context.Background())
	fmt.Println(slices.Collect(cache.Keys()))
	// Output:
	// true false
	// [a]
}
