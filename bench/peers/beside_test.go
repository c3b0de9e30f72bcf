package peers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// The engines that have an order, beside each other, at 1, 2 and 8 goroutines, see "make
// bench-beside".

func besideEngines() []bench.EngineSpec {
	return slices.DeleteFunc(Engines(), func(e bench.EngineSpec) bool {
		return !slices.Contains([]string{"mvcc", "btree", "buntdb", "memdb", "statedb", "badger"}, e.Name)
	})
}

const besideKeys = 1_000_000

// beside runs f b.N times in all, in so many goroutines, as the benchmark of an engine, and then
// the checks.
func beside(b *testing.B, what, engine string, f func(worker int, r *rand.Rand) error,
	checks ...func(b *testing.B)) {
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
			b.StopTimer()
			for _, err := range errs {
				require.NoError(b, err)
			}
			for _, check := range checks {
				check(b)
			}
		})
	}
}

// besideSetup returns 10^6 even keys of so many tables, in random order, with numbers as records.
func besideSetup(tables int) bench.Setup {
	setup := bench.Setup{Tables: make([]bench.TableSetup, tables), Isolation: bench.Serializable}
	setup.Limits.Stopped = func() bool { return false }
	for _, k := range rand.New(rand.NewPCG(1, 1)).Perm(besideKeys) {
		t := &setup.Tables[k%tables]
		t.Keys = append(t.Keys, int64(2*(k/tables)))
		t.Records = append(t.Records, bench.Record{Number: int64(k)})
	}
	for i := range setup.Tables {
		t := &setup.Tables[i]
		t.Name, t.Ordered, t.Numbers = fmt.Sprint("t", i), true, true
	}
	return setup
}

// BenchmarkBeside measures a scan of 10^6 keys in order, a page of 100, the insert of a key and its
// deletion, and a transaction that reads and writes four keys in 1, 2 and 4 tables. Peers that have
// no tables have a part of their keys for each.
func BenchmarkBeside(b *testing.B) {
	for _, peer := range besideEngines() {
		besideTables(b, peer, 1, 1)
		besideTables(b, peer, 4, 2, 4)
	}
}

// besideTables measures transactions over some of so many tables.
func besideTables(b *testing.B, peer bench.EngineSpec, tables int, over ...int) {
	engine, err := peer.New(besideSetup(tables))
	require.NoError(b, err)
	defer engine.Close()
	sessions := make([]bench.Session, 8)
	for i := range sessions {
		sessions[i] = engine.Session(i)
	}
	if tables == 1 {
		besideOne(b, peer.Name, sessions)
	}
	for _, maps := range over {
		beside(b, fmt.Sprint("maps=", maps), peer.Name, func(w int, r *rand.Rand) error {
			return sessions[w].Do(false, func(tx bench.Access) error {
				for i := range 4 {
					table, key := i%maps, int64(2*r.IntN(besideKeys/tables))
					if _, ok := tx.Get(table, key); !ok {
						return fmt.Errorf("key %d of table %d: is missing", key, table)
					}
					tx.Put(table, key, bench.Record{Number: 1})
				}
				return nil
			})
		})
	}
}

// besideOne measures the calls of one table.
func besideOne(b *testing.B, name string, sessions []bench.Session) {
	read := func(w int, low int64, most int) error {
		n := 0
		err := sessions[w].Do(true, func(tx bench.Access) error {
			n = 0
			tx.Range(0, low, func(int64, bench.Record) bool {
				n++
				return n < most
			})
			return nil
		})
		if err == nil && n != most {
			err = fmt.Errorf("%d keys, want %d", n, most)
		}
		return err
	}
	beside(b, "scan", name, func(w int, _ *rand.Rand) error { return read(w, 0, besideKeys) })
	beside(b, "page", name, func(w int, r *rand.Rand) error {
		return read(w, int64(r.IntN(2*besideKeys-200)), 100)
	})
	beside(b, "insert", name, func(w int, r *rand.Rand) error {
		key := int64(2*r.IntN(besideKeys) + 1)
		err := sessions[w].Do(false, func(tx bench.Access) error {
			tx.Put(0, key, bench.Record{Number: 1})
			return nil
		})
		if err != nil {
			return err
		}
		return sessions[w].Do(false, func(tx bench.Access) error {
			tx.Delete(0, key)
			return nil
		})
	})
}
