package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/mvcc"
)

const (
	batch  = 10_000                // operations of a goroutine between two looks at the clock
	warmup = 10 * time.Millisecond // before a side is measured
)

// measure measures op, which performs so many operations at a time.
func measure(ctx context.Context, b *testing.B, many int, op func(n int)) {
	for begin := time.Now(); time.Since(begin) < warmup; {
		op(many)
	}
	runtime.GC()
	var before, after runtime.MemStats
	pprof.SetGoroutineLabels(ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	runtime.ReadMemStats(&before)
	for b.Loop() {
		op(many)
	}
	runtime.ReadMemStats(&after)
	ops := float64(b.N) * float64(many)
	b.ReportMetric(float64(b.Elapsed())/ops, "ns/op")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/ops, "allocs/op")
}

// skewed is read-heavy with as many puts as gets, by a Zipf distribution over 1,000 keys.
const skewed = "zipf-write"

// trial returns a side that runs a workload of package bench on an engine, and verifies what
// was done.
func trial(name, workload, engine string, threads int, audits time.Duration) side {
	return side{name, func(ctx context.Context, b *testing.B) error {
		w, ok := bench.WorkloadByName(workload)
		if workload == skewed {
			w, ok = bench.WorkloadByName("read-heavy")
			w.Params.Keys, w.Params.ReadPct, w.Params.Theta = 1_000, 50, 0.9
		}
		e, known := bench.EngineByName(engine)
		if !ok || !known {
			return fmt.Errorf("no workload %q, or no engine %q", workload, engine)
		}
		t, err := bench.New(bench.Config{
			Workload: w, Engine: e, Threads: threads, Seed: 1,
			LatencySample: 1 << 10, AuditInterval: audits,
		})
		if err != nil {
			return err
		}
		defer t.Close()
		if _, err := t.RunFor(ctx, warmup, false); err != nil {
			return err
		}
		var ops, allocs uint64
		var wall time.Duration
		for b.Loop() {
			m, err := t.RunFor(ctx, 5*warmup, true)
			if err != nil {
				return err
			}
			ops, allocs, wall = ops+m.Ops, allocs+m.Allocs, wall+m.Wall
		}
		b.ReportMetric(float64(wall)/float64(ops), "ns/op")
		b.ReportMetric(float64(allocs)/float64(ops), "allocs/op")
		return t.Verify()
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

func scan(keys int) func(context.Context, *testing.B) error {
	return func(ctx context.Context, b *testing.B) error {
		m := numbers(keys)
		defer m.Close()
		measure(ctx, b, 1, func(n int) {
			for range n {
				sum := uint64(0)
				_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
					for _, v := range s.All() {
						sum += v
					}
					return nil
				})
				sink.Store(int64(sum))
			}
		})
		return nil
	}
}

func xsyncScan(keys int) func(context.Context, *testing.B) error {
	return func(ctx context.Context, b *testing.B) error {
		m := xsync.NewMap[uint64, uint64](xsync.WithPresize(keys))
		for i := range uint64(keys) {
			m.Store(i, i)
		}
		measure(ctx, b, 1, func(n int) {
			for range n {
				sum := uint64(0)
				m.Range(func(_, v uint64) bool {
					sum += v
					return true
				})
				sink.Store(int64(sum))
			}
		})
		return nil
	}
}

// beside returns a benchmark of one writer that overwrites keys while something else, which
// begin begins, goes on until end.
func beside(keys int, begin func(m *intMap) (end func())) func(context.Context, *testing.B) error {
	return func(ctx context.Context, b *testing.B) error {
		m := numbers(keys)
		defer m.Close()
		defer begin(m)()
		next := 0
		measure(ctx, b, batch, func(n int) {
			for range n {
				m.Store(uint64(next), uint64(n))
				if next++; next == keys {
					next = 0
				}
			}
		})
		return nil
	}
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
			sum := uint64(0)
			_ = m.View(func(s mvcc.Snapshot[uint64, uint64]) error {
				for _, v := range s.All() {
					if sum += v; stop.Load() {
						break
					}
				}
				return nil
			})
			sink.Store(int64(sum))
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

// weight returns a side that says, for each key, what the heap grew by when fill filled a map
// of so many.
func weight(name string, keys int, fill func(keys int) (done func())) side {
	return side{name, func(_ context.Context, b *testing.B) error {
		for b.Loop() {
			before := heap()
			done := fill(keys)
			b.ReportMetric(float64(heap()-before)/float64(keys), "B/key")
			done()
		}
		return nil
	}}
}

// heap returns the bytes that are live on the heap. Cleanups, pools and goroutines
// that are about to end give back what they hold one collection after another, so
// it collects until nothing more goes away.
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

// rebuild is a side that builds a program of internal/footprint again after an edit of its one
// file, as one does all day: with one process of the compiler at a time, and all else built before.
// What it takes is the time of processors.
func rebuild(name, program string) side {
	return side{name, func(ctx context.Context, b *testing.B) error {
		root, err := command(ctx, "list", "-m", "-f", "{{.Dir}}")
		if err != nil {
			return err
		}
		file := filepath.Join(strings.TrimSpace(root), "internal", "footprint", "testdata", program,
			"main.go")
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		edited, err := newEdit(b.TempDir(), file, source)
		if err != nil {
			return err
		}
		if _, err := edited.build(ctx); err != nil {
			return err
		}
		var took time.Duration
		for b.Loop() {
			one, err := edited.build(ctx)
			if err != nil {
				return err
			}
			took += one
		}
		b.ReportMetric(float64(took)/float64(b.N), "ns/op")
		return nil
	}}
}

// command returns what a go command prints.
func command(ctx context.Context, args ...string) (out string, err error) {
	list := exec.CommandContext(ctx, "go", args...)
	list.Stderr = os.Stderr
	text, err := list.Output()
	return string(text), err
}

// An edit is a program whose file is edited without being changed: the go command is told to take
// another one in its place.
type edit struct{ file, other, overlay, program string }

func newEdit(dir, file string, source []byte) (edit, error) {
	e := edit{file, filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"),
		filepath.Join(dir, "program")}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: e.other}})
	if err != nil {
		return e, err
	}
	if err := os.WriteFile(e.overlay, replace, 0o600); err != nil {
		return e, err
	}
	return e, os.WriteFile(e.other, source, 0o600)
}

// build adds a line that has never been there, and builds the program.
func (e edit) build(ctx context.Context) (took time.Duration, err error) {
	f, err := os.OpenFile(e.other, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(f, "\nconst edit%d = 0\n", time.Now().UnixNano())
	if err := f.Close(); err != nil {
		return 0, err
	}
	if err != nil {
		return 0, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-p=1", "-o", e.program, "-overlay", e.overlay,
		filepath.Dir(e.file))
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return build.ProcessState.UserTime() + build.ProcessState.SystemTime(), nil
}
