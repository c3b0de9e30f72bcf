package mvcc

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

var bg = context.Background()

// serializable and snapshot are the two levels by name.
var (
	serializable = &TxOptions{Isolation: LevelSerializable}
	snapshot     = &TxOptions{Isolation: LevelSnapshot}
	levels       = []*TxOptions{serializable, snapshot}
)

// newMap returns a map that is closed when the test ends.
func newMap[K comparable, V any](t testing.TB, opts *Options) *Map[K, V] {
	t.Helper()
	m := New[K, V](opts)
	t.Cleanup(m.Close)
	return m
}

// newDB returns a database that is closed when the test ends.
func newDB(t testing.TB, opts *Options) *DB {
	t.Helper()
	db := NewDB(opts)
	t.Cleanup(db.Close)
	return db
}

// still returns options with which nothing is pruned unless the test says so.
func still() *Options {
	return &Options{ReclaimInterval: time.Hour, PruneThreshold: chain.CountMax}
}

// brisk returns options with which the background work runs all the time.
func brisk() *Options { return &Options{ReclaimInterval: time.Millisecond} }

// prune makes a new view and prunes every key with it, here and now. While the background work is
// making one, it waits for that and then makes its own: transactions that have ended before the
// call are not live in the view. It gives up waiting for a refresher that the test holds.
func prune[K comparable, V any](m *Map[K, V]) {
	for range 2 {
		old := coreOf(m).gc.View()
		for range 10_000 {
			if coreOf(m).gc.Refresh(); coreOf(m).gc.View() != old {
				break
			}
			runtime.Gosched()
		}
	}
	view := coreOf(m).gc.View()
	for _, h := range heads(m) {
		coreOf(m).prune(h.at, h.head, view, math.MaxInt, math.MaxInt, nil)
	}
}

// reclaim calls Reclaim n times: after three of them all open transactions are old.
func reclaim[K comparable, V any](t testing.TB, m *Map[K, V], n int) {
	t.Helper()
	for range n {
		require.NoError(t, m.Reclaim(bg))
	}
}

// mustUpdate runs an Update that must succeed.
func mustUpdate[K comparable, V any](t testing.TB, m *Map[K, V], opts *TxOptions,
	fn func(tx Tx[K, V])) {
	t.Helper()
	require.NoError(t, m.Update(bg, opts, func(tx Tx[K, V]) error { fn(tx); return nil }))
}

// A spotted is a key: its place, and the head that it had there.
type spotted struct {
	at   index.Place
	head *chain.Node
}

// heads returns the keys of the index, with their heads.
func heads[K comparable, V any](m *Map[K, V]) []spotted { return headsOf(coreOf(m)) }

func headsOf(c *core) (all []spotted) {
	c.index.Scan(func(p index.Place, h *chain.Node) bool {
		all = append(all, spotted{p, h})
		return true
	})
	return all
}

// hash returns the hash of key.
func (m *Map[K, V]) hash(key K) uint64 { return m.index.Hash.Sum(unsafe.Pointer(&key)) }

// keyAt returns where a copy of key is.
func keyAt[K any](key K) unsafe.Pointer { return unsafe.Pointer(&key) }

// lookup returns where key is, with its head, or nowhere and nil.
func (m *Map[K, V]) lookup(key K) spotted {
	_, p, h := m.index.Seek(unsafe.Pointer(&key))
	return spotted{p, h}
}

// A link is one version of a chain.
type link[V any] struct {
	Epoch uint64
	Value V
	Tomb  bool
}

// chainOf returns the committed versions of key, newest first, or nil if there is
// no entry. Nobody may be writing.
func chainOf[K comparable, V any](m *Map[K, V], key K) (links []link[V]) {
	for v := m.lookup(key).head; v != nil; v = v.Next.Load() {
		if w, _ := coreOf(m).Resolve(v); w.Committed() {
			links = append(links, link[V]{uint64(w.Epoch()), chain.ValueOf[K, V](v), v.Tombstone()})
		}
	}
	return links
}

// checkQuiet checks a map that nobody uses any more: no slot is taken, and I5 holds for every
// chain.
func checkQuiet[K comparable, V any](t testing.TB, m *Map[K, V]) {
	t.Helper()
	checkQuietCore[K](t, coreOf(m))
}

func checkQuietCore[K comparable](t testing.TB, c *core) {
	t.Helper()
	require.Zero(t, c.shared.stats().LiveTx, "slots that are still taken")
	require.Zero(t, c.favour.Stats().Held, "a claim that has not ended")
	require.Zero(t, c.favour.Stats().Waiting, "somebody waits for a claim")
	require.Nil(t, c.alarms.list.Load(), "an alarm is left")
	for _, h := range headsOf(c) {
		last := ^epoch.Epoch(0)
		for v := h.head; v != nil; v = v.Next.Load() {
			w, _ := c.Resolve(v)
			switch {
			case w.Committed():
				require.Less(t, w.Epoch(), last, "key %v: epochs do not descend", chain.KeyOf[K](v))
				last = w.Epoch()
			case v == h.head && w.Is(chain.KindAborted):
			default:
				require.Fail(t, "undecided or below the head", "key %v: %v", chain.KeyOf[K](v), w)
			}
			require.Equal(t, chain.KeyOf[K](h.head), chain.KeyOf[K](v))
		}
	}
}

// contents returns the records that a new snapshot sees, and checks that Len, All, Get and the
// one-key Load agree about it. Nobody may be writing.
func contents[K comparable, V any](t testing.TB, m *Map[K, V]) map[K]V {
	t.Helper()
	s := m.Snapshot()
	defer s.Close()
	all := map[K]V{}
	for k, v := range s.All() {
		_, twice := all[k]
		require.False(t, twice, "key %v was met twice", k)
		all[k] = v
		got, ok := s.Get(k)
		require.True(t, ok)
		require.Equal(t, v, got)
		got, ok = m.Load(k)
		require.True(t, ok)
		require.Equal(t, v, got)
	}
	require.Equal(t, len(all), s.Len())
	return all
}

// requireConflict checks that err is a conflict over key, of one of the kinds.
func requireConflict(t testing.TB, err error, key any, kinds ...ConflictKind) {
	t.Helper()
	require.ErrorIs(t, err, ErrConflict)
	var c *ConflictError
	require.ErrorAs(t, err, &c)
	require.Equal(t, key, c.Key)
	require.True(t, slices.Contains(kinds, c.Kind), "kind %v, want one of %v", c.Kind, kinds)
	require.Contains(t, c.Error(), fmt.Sprint(key))
}

// requireValue checks the result of a read.
func requireValue[V any](t testing.TB, want V) func(got V, ok bool) {
	return func(got V, ok bool) {
		t.Helper()
		require.True(t, ok, "absent")
		require.Equal(t, want, got)
	}
}

// requireAbsent checks that a read found nothing.
func requireAbsent[V any](t testing.TB) func(got V, ok bool) {
	return func(got V, ok bool) {
		t.Helper()
		require.False(t, ok, "want absent, got %v", got)
		var zero V
		assert.Equal(t, zero, got, "absent, but not zero")
	}
}

// panicOf returns the value with which f panics, or nil.
func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// requireTxDone checks that f panics with ErrTxDone.
func requireTxDone(t testing.TB, f func()) {
	t.Helper()
	require.Equal(t, any(ErrTxDone), panicOf(f))
}

// requireRuntimeError checks that f panics with an error of the runtime.
func requireRuntimeError(t testing.TB, f func()) {
	t.Helper()
	p := panicOf(f)
	_, ok := p.(runtime.Error)
	require.True(t, ok, "want a runtime error, got %v", p)
}

// elsewhere calls f in another goroutine and waits for it.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// requirePanicText checks that f panics with a value that has the text.
func requirePanicText(t testing.TB, text string, f func(), about ...any) {
	t.Helper()
	p := panicOf(f)
	require.NotNil(t, p, about...)
	require.Contains(t, fmt.Sprint(p), text, about...)
}

// coreOf returns the core of a map, for tests that look into it.
func coreOf[K comparable, V any](m *Map[K, V]) *core { return coreAt(m.at) }
