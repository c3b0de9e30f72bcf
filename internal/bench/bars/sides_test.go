package bars

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/mvcc"
)

// skewed is read-heavy with as many puts as gets, by a Zipf distribution over 1,000 keys.
const skewed = "zipf-write"

// trial returns a side that runs a workload of package bench on an engine, and verifies it.
func trial(name, workload, engine string, threads int, audits time.Duration) side {
	return side{name, func(t testing.TB) figure {
		w, ok := bench.WorkloadByName(workload)
		if workload == skewed {
			w, ok = bench.WorkloadByName("read-heavy")
			w.Params.Keys, w.Params.ReadPct, w.Params.Theta = 1_000, 50, 0.9
		}
		require.True(t, ok, workload)
		e, ok := bench.EngineByName(engine)
		require.True(t, ok, engine)
		trial, err := bench.New(bench.Config{Workload: w, Engine: e, Threads: threads, Seed: 1,
			LatencySample: 1 << 10, AuditInterval: audits})
		require.NoError(t, err)
		defer trial.Close()
		_, err = trial.RunFor(t.Context(), warmup, false)
		require.NoError(t, err)
		m, err := trial.RunFor(t.Context(), length, true)
		require.NoError(t, err)
		require.NoError(t, trial.Verify())
		return figure{m.NsPerOp(), m.AllocsPerOp()}
	}}
}

type intMap = mvcc.Map[uint64, uint64]

// numbers returns a map with numbers from 0 as keys and values.
func numbers(keys int) *intMap {
	m := mvcc.New[uint64, uint64](&mvcc.Options{Capacity: keys})
	for i := range uint64(keys) {
		m.Store(i, i)
	}
	return m
}

func scan(keys int) side {
	return side{"mvcc", func(testing.TB) figure {
		m := numbers(keys)
		defer m.Close()
		return measure("mvcc", 1, func(int) { sink.Store(int64(sumOf(m, new(atomic.Bool)))) })
	}}
}

// sumOf adds up all values of a snapshot, until stop is set.
func sumOf(m *intMap, stop *atomic.Bool) (sum uint64) {
	_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
		for _, v := range s.All() {
			if sum += v; stop.Load() {
				break
			}
		}
		return nil
	})
	return sum
}

func xsyncScan(keys int) side {
	return side{"xsync", func(testing.TB) figure {
		m := xsync.NewMap[uint64, uint64](xsync.WithPresize(keys))
		for i := range uint64(keys) {
			m.Store(i, i)
		}
		return measure("xsync", 1, func(int) {
			sum := uint64(0)
			m.Range(func(_, v uint64) bool {
				sum += v
				return true
			})
			sink.Store(int64(sum))
		})
	}}
}

// beside returns a side of one writer that overwrites keys while something else, which begin
// begins, goes on until end.
func beside(name string, keys int, begin func(m *intMap) (end func())) side {
	return side{name, func(testing.TB) figure {
		m := numbers(keys)
		defer m.Close()
		defer begin(m)()
		next := 0
		return measure(name, batch, func(n int) {
			for range n {
				m.Store(uint64(next), uint64(n))
				if next++; next == keys {
					next = 0
				}
			}
		})
	}}
}

func nothing(*intMap) (end func()) { return func() {} }

// reading is an open snapshot.
func reading(m *intMap) (end func()) { return m.Snapshot().Close }

func spinning(*intMap) (end func()) {
	return background(func(stop *atomic.Bool) {
		for !stop.Load() {
		}
	})
}

func scanning(m *intMap) (end func()) {
	return background(func(stop *atomic.Bool) {
		for !stop.Load() {
			sink.Store(int64(sumOf(m, stop)))
		}
	})
}

// background runs f, which returns soon after stop is set, until end.
func background(f func(stop *atomic.Bool)) (end func()) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { f(&stop) })
	return func() {
		stop.Store(true)
		wg.Wait()
	}
}

// weight returns a side that says, for each key, by how much the heap grew when fill filled a map
// of so many.
func weight(name string, keys int, fill func(keys int) (done func())) side {
	return side{name, func(testing.TB) figure {
		before := heap()
		done := fill(keys)
		defer done()
		return figure{value: float64(heap()-before) / float64(keys)}
	}}
}

// heap returns the bytes that are live on the heap. Cleanups, pools and goroutines that
// are about to end give back their memory one collection after another, so it collects
// until nothing more goes away.
func heap() int64 {
	const settle = 5 * time.Millisecond
	least, same := int64(math.MaxInt64), 0
	for range 50 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if now := int64(m.HeapAlloc); now < least-1<<10 {
			least, same = now, 0
		} else if same++; same == 3 {
			break
		}
		time.Sleep(settle)
	}
	return least
}

// An entry makes a key and a value.
type entry[K, V any] func(i int) (K, V)

func number(i int) (key, value uint64) { return uint64(i), uint64(i) }

func name16(i int) (key [16]byte, value [100]byte) {
	binary.LittleEndian.PutUint64(key[:], uint64(i))
	return key, value
}

func filled[K comparable, V any](of entry[K, V]) func(keys int) func() {
	return func(keys int) func() {
		m := mvcc.New[K, V](&mvcc.Options{Capacity: keys})
		for i := range keys {
			m.Store(of(i))
		}
		return m.Close
	}
}

func xsyncFilled[K comparable, V any](of entry[K, V]) func(keys int) func() {
	return func(keys int) func() {
		m := xsync.NewMap[K, V](xsync.WithPresize(keys))
		for i := range keys {
			m.Store(of(i))
		}
		return func() { runtime.KeepAlive(m) }
	}
}

// overwritten fills a map in which, while a snapshot is open, every value is overwritten a
// number of times. Chains grow and are pruned in turn, so only multiples of the number of
// versions between two prunings, a power of two, can be compared.
func overwritten(times int) func(keys int) func() {
	return func(keys int) func() {
		m := mvcc.New[uint64, [100]byte](nil)
		for i := range uint64(keys) {
			m.Store(i, [100]byte{})
		}
		s := m.Snapshot()
		for i := range keys * times {
			m.Store(uint64(i%keys), [100]byte{byte(i)})
		}
		return func() { s.Close(); m.Close() }
	}
}

// rebuild is a side that builds a program of internal/proof/footprint again after an edit of its one
// file: with one process of the compiler at a time, and all else built before. Its figure is the
// time of processors. The file itself stays: the go command takes another one in its place.
func rebuild(name, program string) side {
	return side{name, func(t testing.TB) figure {
		dir, err := filepath.Abs(filepath.Join("..", "..", "proof", "footprint", "testdata", program))
		require.NoError(t, err)
		file, temp := filepath.Join(dir, "main.go"), t.TempDir()
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		other, overlay := filepath.Join(temp, "main.go"), filepath.Join(temp, "overlay.json")
		replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: other}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(overlay, replace, 0o600))
		var took time.Duration
		for range 2 { // first all else
			source = fmt.Appendf(source, "\nconst edit%d = 0\n", time.Now().UnixNano())
			require.NoError(t, os.WriteFile(other, source, 0o600))
			build := exec.Command("go", "build", "-p=1", "-o", filepath.Join(temp, "program"), "-overlay",
				overlay, dir)
			out, err := build.CombinedOutput()
			require.NoError(t, err, "%s", out)
			took = build.ProcessState.UserTime() + build.ProcessState.SystemTime()
		}
		return figure{value: float64(took)}
	}}
}
