//go:build !mvcccheck

// The checks of the invariants ask for keys a second time.

package mvcc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Keys that are made of buffers, as frameworks have them that do not allocate: their bytes change
// after the store. The value of such a key may be any, but other keys stay, and nothing ends the
// program. (It runs in one goroutine: background work that read a buffer would be a race.)
func TestReusedKeys(t *testing.T) {
	text := func(s string) string { return s }
	compare := func(a, b string) int { return strings.Compare(a, b) }
	manual := func() *Options { return &Options{ManualReclaim: true} }
	for name, of := range map[string]func(t *testing.T){
		"hash table": func(t *testing.T) { reuse(t, New[string, int](manual()), text, true) },
		"structs": func(t *testing.T) {
			type key struct {
				n    int
				text [2]string
			}
			reuse(t, New[key, int](manual()), func(s string) key { return key{1, [2]string{"", s}} }, true)
		},
		"interfaces": func(t *testing.T) {
			reuse(t, New[any, int](manual()), func(s string) any { return s }, true)
		},
		"order": func(t *testing.T) { reuse(t, NewOrdered[string, int](manual()), text, true) },
		// Where a function compares keys, those beside one that has changed may be missed, and stand
		// there twice.
		"order by a function": func(t *testing.T) {
			reuse(t, NewOrderedFunc[string, int](compare, manual()), text, false)
		},
		"indexes, a watch and expiry": func(t *testing.T) {
			db := newDB(t, manual())
			m := NewTable[string, int](db, "t", nil)
			for _, unique := range []bool{false, true} {
				_, err := NewIndex(m, fmt.Sprint("by key ", unique), func(k string, v int) []string {
					return []string{k + "/" + fmt.Sprint(v)}
				}, &IndexOptions{Unique: unique})
				require.NoError(t, err)
			}
			m.Expire(func(_ string, v int) time.Time {
				if v%7 == 0 {
					return time.Unix(1, 0)
				}
				return time.Time{}
			})
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			if !stage.Race { // the hub reads keys
				_ = m.Watch(ctx, nil)
			}
			reuse(t, m, text, true)
		},
	} {
		t.Run(name, of)
	}
}

// reuse stores good keys, and others that are made of buffers, and resizes the index now and then.
func reuse[K comparable](t *testing.T, m *Map[K, int], keyOf func(s string) K, allStay bool) {
	t.Cleanup(m.Close)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	good := map[string]int{}
	var buffers [3][]byte
	for i := range buffers {
		buffers[i] = make([]byte, 0, 24)
	}
	bad := func() K {
		i := r.IntN(len(buffers))
		b := fmt.Appendf(buffers[i][:0], "%06d%s", r.IntN(1e6), strings.Repeat("-bad", 1+i))
		return keyOf(unsafe.String(&b[0], len(b)))
	}
	named := func() string { return fmt.Sprintf("%06d good", r.IntN(1e6)) }
	steps := 20_000
	if testing.Short() {
		steps = 4_000
	}
	for step := range steps {
		switch n := r.IntN(100); {
		case n < 40:
			m.Store(bad(), 1+7*r.IntN(1000))
		case n < 70:
			s := named()
			good[s] = 1 + 7*step
			m.Store(keyOf(s), good[s])
		case n < 80:
			s, value := named(), 1+7*step
			p := panicOf(func() {
				mustUpdate(t, m, nil, func(tx Tx[K, int]) {
					tx.Set(bad(), 1)
					tx.Get(bad())
					tx.Set(keyOf(s), value)
					for range r.IntN(20) {
						tx.Set(bad(), 1)
						tx.Delete(bad())
					}
				})
			})
			if p == nil {
				good[s] = value
			} else {
				require.Equal(t, errTwice, p)
			}
		case n < 90:
			for s := range good {
				m.Delete(keyOf(s))
				delete(good, s)
				break
			}
		case n < 95:
			m.Delete(bad())
		case step%1000 == 7:
			m.DeleteFunc(func(_ K, v int) bool { return v < step*7/2 }) // the index becomes smaller
			for s, v := range good {
				if v < step*7/2 {
					delete(good, s)
				}
			}
		default:
			m.Store(bad(), 7) // which expires, in a map where that is asked for
			require.NoError(t, m.Reclaim(bg))
		}
	}
	s := m.Snapshot()
	defer s.Close()
	met := map[string]int{}
	for key, value := range s.All() {
		met[fmt.Sprint(key)+fmt.Sprint(value)]++
	}
	for of, value := range good {
		if !allStay {
			break
		}
		got, ok := m.Load(keyOf(of))
		require.True(t, ok, "key %q is gone", of)
		require.Equal(t, value, got, "key %q", of)
		require.Equal(t, 1, met[fmt.Sprint(keyOf(of))+fmt.Sprint(value)], "key %q in a loop", of)
	}
}
