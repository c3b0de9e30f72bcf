package peers

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The engines that have an order, beside each other, at 1, 2 and 8 goroutines; "make bench-beside"
// prints one table of it;
//
// and what 10^6 records take in memory:
//
//	go test -run '^$' -bench Weight -benchtime 1x .

var besideEngines = []string{"mvcc", "btree", "buntdb", "memdb", "badger"}

const (
	besideKeys   = 1_000_000
	besideShop   = 10_000 // customers, of whom each has some orders
	besideOrders = 2
)

// beside runs f b.N times in all, in so many goroutines, as the benchmark of an engine.
func beside(b *testing.B, what, engine string, f func(worker int, r *rand.Rand) error) {
	for _, threads := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("%s/engine=%s/threads=%d", what, engine, threads), func(b *testing.B) {
			errs := make([]error, threads)
			var all sync.WaitGroup
			for g := range threads {
				all.Go(func() {
					r := rand.New(rand.NewPCG(uint64(g), 1))
					for range b.N*(g+1)/threads - b.N*g/threads {
						if errs[g] = f(g, r); errs[g] != nil {
							return
						}
					}
				})
			}
			all.Wait()
			for _, err := range errs {
				require.NoError(b, err)
			}
		})
	}
}

// besideKey has the order of the numbers.
func besideKey(k, size int) string {
	var key [16]byte
	binary.BigEndian.PutUint64(key[:], uint64(k))
	return string(key[:size])
}

func besideSetup() bench.Setup[uint64] {
	setup := bench.Setup[uint64]{Ordered: true, Isolation: bench.Serializable}
	setup.Limits.Stopped = func() bool { return false }
	for _, k := range rand.New(rand.NewPCG(1, 1)).Perm(besideKeys) {
		setup.Keys = append(setup.Keys, besideKey(2*k, 8))
		setup.Values = append(setup.Values, uint64(k))
	}
	return setup
}

// BenchmarkBeside measures a scan of 10^6 keys in order, a page of 100, the insert of a key and its
// deletion, a transaction that reads and writes four keys in 1, 2 and 4 maps, and one that changes
// the index key of a record. Peers that have no maps have a part of their keys for each.
func BenchmarkBeside(b *testing.B) {
	setup := besideSetup()
	for _, name := range besideEngines {
		peer, ok := ByName(name)
		require.True(b, ok)
		engine, err := peer.New(setup)
		require.NoError(b, err)
		sessions := make([]bench.Session[uint64], 8)
		for i := range sessions {
			sessions[i] = engine.Session(i)
		}
		batch := func(w int, ops ...bench.Op[uint64]) error {
			return sessions[w].(bench.Batcher[uint64]).Batch(ops, false)
		}
		read := func(w int, low string, most int) error {
			n := 0
			err := sessions[w].(bench.Ranger[uint64]).Range(low, most, func(string, uint64) { n++ })
			if err == nil && n != most {
				err = fmt.Errorf("%d keys, want %d", n, most)
			}
			return err
		}
		beside(b, "scan", name, func(w int, _ *rand.Rand) error { return read(w, "", besideKeys) })
		beside(b, "page", name, func(w int, r *rand.Rand) error {
			return read(w, besideKey(r.IntN(2*besideKeys-200), 8), 100)
		})
		beside(b, "insert", name, func(w int, r *rand.Rand) error {
			key := besideKey(2*r.IntN(besideKeys)+1, 8)
			if err := batch(w, bench.Op[uint64]{Kind: bench.OpPut, Key: key, Value: 1}); err != nil {
				return err
			}
			return batch(w, bench.Op[uint64]{Kind: bench.OpDelete, Key: key})
		})
		for _, maps := range []int{1, 2, 4} {
			if name == "mvcc" {
				besideTables(b, setup, maps)
				continue
			}
			beside(b, fmt.Sprint("maps=", maps), name, func(w int, r *rand.Rand) error {
				var ops [4]bench.Op[uint64]
				for i := range ops {
					part := besideKeys / maps
					key := besideKey(2*(i%maps*part+r.IntN(part)), 8)
					ops[i] = bench.Op[uint64]{Kind: bench.OpModify, Key: key, Value: 1}
				}
				return batch(w, ops[:]...)
			})
		}
		engine.Close()
	}
	for _, name := range []string{"mvcc", "rwmutex", "buntdb", "memdb", "badger"} {
		besideIndex(b, name)
	}
}

// besideTables is four keys in so many tables.
func besideTables(b *testing.B, setup bench.Setup[uint64], maps int) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	tables := make([]*mvcc.Map[string, uint64], maps)
	for i := range tables {
		tables[i] = mvcc.NewOrderedTable[string, uint64](db, fmt.Sprint(i), nil)
	}
	part := besideKeys / maps
	for i, key := range setup.Keys {
		tables[min(int(setup.Values[i])/part, maps-1)].Store(key, setup.Values[i])
	}
	beside(b, fmt.Sprint("maps=", maps), "mvcc", func(_ int, r *rand.Rand) error {
		return db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
			for i := range 4 {
				key := besideKey(2*(i%maps*part+r.IntN(part)), 8)
				t := tables[i%maps].In(tx)
				if _, ok := t.Get(key); !ok {
					return fmt.Errorf("key %x is missing", key)
				}
				t.Set(key, 1)
			}
			return nil
		})
	})
}

// besideIndex gives an order another number, which is in an index.
func besideIndex(b *testing.B, name string) {
	peer, ok := ByName(name)
	require.True(b, ok)
	setup := bench.ShopSetup{Isolation: bench.Serializable}
	setup.Limits.Stopped = func() bool { return false }
	for id := range uint64(besideShop * besideOrders) {
		order := bench.Order{ID: id, Customer: id / besideOrders, Number: id % besideOrders}
		setup.Orders = append(setup.Orders, order)
	}
	shop, err := peer.NewShop(setup)
	require.NoError(b, err)
	defer shop.Close()
	sessions := make([]bench.ShopSession, 8)
	for i := range sessions {
		sessions[i] = shop.Session(i)
	}
	var number atomic.Uint64
	number.Store(besideOrders)
	beside(b, "index", name, func(w int, r *rand.Rand) error {
		// Each goroutine has customers of its own: an order may be deleted by its first number.
		customer := uint64(r.IntN(besideShop/8)*8 + w)
		next := number.Add(1)
		return sessions[w].Do(false, func(tx bench.ShopTx) error {
			var order bench.Order
			if err := tx.OrdersOf(customer, func(o bench.Order) bool {
				order = o
				return false
			}); err != nil {
				return err
			}
			if err := tx.DeleteOrder(order); err != nil {
				return err
			}
			order.Number = next
			return tx.PutOrder(order)
		})
	})
	require.NoError(b, sessions[0].Do(true, func(tx bench.ShopTx) error {
		n := 0
		err := tx.OrdersOf(8, func(bench.Order) bool { n++; return true })
		require.Equal(b, besideOrders, n)
		return err
	}))
}

// BenchmarkWeight reports what the engines hold for 10^6 records: the bytes of the heap in use
// after a collection, a key.
func BenchmarkWeight(b *testing.B) {
	for _, name := range besideEngines {
		peer, ok := ByName(name)
		require.True(b, ok)
		b.Run("8+8/engine="+name, func(b *testing.B) {
			weigh(b, peer.New, func(k int) (string, uint64) { return besideKey(k, 8), uint64(k) })
		})
		b.Run("16+100/engine="+name, func(b *testing.B) {
			weigh(b, peer.NewBytes, func(k int) (string, []byte) {
				return besideKey(k, 16), make([]byte, 100)
			})
		})
	}
}

func weigh[V any](b *testing.B, open func(bench.Setup[V]) (bench.Engine[V], error),
	record func(k int) (string, V)) {
	before := collected()
	setup := bench.Setup[V]{Ordered: true, Isolation: bench.Serializable}
	setup.Limits.Stopped = func() bool { return false }
	for k := range besideKeys {
		key, value := record(k)
		setup.Keys, setup.Values = append(setup.Keys, key), append(setup.Values, value)
	}
	engine, err := open(setup)
	require.NoError(b, err)
	setup = bench.Setup[V]{}
	b.ReportMetric((float64(collected())-float64(before))/besideKeys, "B/key")
	b.ReportMetric(0, "ns/op")
	engine.Close()
}

func collected() uint64 {
	var m runtime.MemStats
	for range 3 { // what finalizers and the background work hold goes, too
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
