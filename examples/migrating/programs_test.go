package migrating_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A syncMap has the methods of sync.Map, except for those that compare values.
type syncMap interface {
	Load(key any) (value any, ok bool)
	Store(key, value any)
	LoadOrStore(key, value any) (actual any, loaded bool)
	LoadAndDelete(key any) (value any, loaded bool)
	Delete(key any)
	Range(f func(key, value any) bool)
	Clear()
}

// words counts words in several goroutines.
func words(m syncMap) string {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for word := range strings.FieldsSeq("a rose is a rose is a rose") {
				n, _ := m.LoadOrStore(word, new(atomic.Int64))
				n.(*atomic.Int64).Add(1)
			}
		})
	}
	wg.Wait()
	var list []string
	m.Range(func(word, n any) bool {
		list = append(list, fmt.Sprint(word, " ", n.(*atomic.Int64).Load()))
		return true
	})
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// jobs hands each job to one of several goroutines.
func jobs(m syncMap) string {
	for job := range 100 {
		m.Store(job, job*job)
	}
	var sum, done atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for job := range 100 {
				if n, mine := m.LoadAndDelete(job); mine {
					sum.Add(int64(n.(int)))
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return fmt.Sprint(done.Load(), " jobs, ", sum.Load())
}

// users is a registry that is emptied at the end.
func users(m syncMap) string {
	m.Store("alice", 1)
	m.Store("bob", 2)
	m.Store("alice", 3)
	m.Delete("bob")
	alice, ok := m.Load("alice")
	_, bob := m.Load("bob")
	m.Clear()
	left := 0
	m.Range(func(_, _ any) bool { left++; return true })
	return fmt.Sprint(alice, ok, bob, left)
}

// TestProgramsForSyncMap runs programs that were written for sync.Map with the others.
func TestProgramsForSyncMap(t *testing.T) {
	for _, p := range []struct {
		name, want string
		run        func(m syncMap) string
	}{
		{"words", "a 12, is 8, rose 12", words},
		{"jobs", "100 jobs, 328350", jobs},
		{"users", "3 true false 0", users},
	} {
		t.Run(p.name, func(t *testing.T) {
			m := mvcc.New[any, any](nil)
			defer m.Close()
			require.Equal(t, p.want, p.run(new(sync.Map)), "sync.Map")
			require.Equal(t, p.want, p.run(xsync.NewMap[any, any]()), "xsync.Map")
			require.Equal(t, p.want, p.run(m), "mvcc.Map")
		})
	}
}

// An xsyncMap has methods of xsync.Map that sync.Map has not. Op is the type of operations: its
// constants have the same names.
type xsyncMap[Op any] interface {
	Store(key string, n int)
	Load(key string) (n int, ok bool)
	LoadOrCompute(key string, fn func() (n int, cancel bool)) (actual int, loaded bool)
	Compute(key string, fn func(old int, loaded bool) (int, Op)) (actual int, ok bool)
	All() iter.Seq2[string, int]
}

// stock takes items until there are none left.
func stock[Op any, M xsyncMap[Op]](m M, cancel, update, del Op) string {
	m.Store("nut", 50)
	m.Store("bolt", 1000)
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				ok := false
				m.Compute("nut", func(n int, loaded bool) (int, Op) {
					switch ok = loaded; {
					case !ok:
						return 0, cancel
					case n == 1:
						return 0, del
					}
					return n - 1, update
				})
				if ok {
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return fmt.Sprint(taken.Load(), maps.Collect(m.All()))
}

// cache computes what is not there.
func cache[Op any, M xsyncMap[Op]](m M, _, _, _ Op) string {
	length := func(s string) func() (int, bool) {
		return func() (int, bool) { return len(s), s == "" }
	}
	a, before := m.LoadOrCompute("abc", length("abc"))
	b, after := m.LoadOrCompute("abc", length("something else"))
	m.LoadOrCompute("", length(""))
	_, kept := m.Load("")
	return fmt.Sprint(a, before, b, after, kept)
}

// TestProgramsForXsync runs programs that were written for xsync.Map with mvcc.Map.
func TestProgramsForXsync(t *testing.T) {
	type (
		xMap = *xsync.Map[string, int]
		xOp  = xsync.ComputeOp
		mMap = *mvcc.Map[string, int]
		mOp  = mvcc.ComputeOp
	)
	for _, p := range []struct {
		name, want string
		xsync      func(m xMap, cancel, update, del xOp) string
		mvcc       func(m mMap, cancel, update, del mOp) string
	}{
		{"stock", "50 map[bolt:1000]", stock[xOp, xMap], stock[mOp, mMap]},
		{"cache", "3 false 3 true false", cache[xOp, xMap], cache[mOp, mMap]},
	} {
		t.Run(p.name, func(t *testing.T) {
			x, m := xsync.NewMap[string, int](), mvcc.New[string, int](nil)
			defer m.Close()
			require.Equal(t, p.want, p.xsync(x, xsync.CancelOp, xsync.UpdateOp, xsync.DeleteOp))
			require.Equal(t, p.want, p.mvcc(m, mvcc.CancelOp, mvcc.UpdateOp, mvcc.DeleteOp))
		})
	}
}
