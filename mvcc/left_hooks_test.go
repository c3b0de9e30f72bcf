//go:build mvcccheck

package mvcc

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/goid"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// A transaction that helps a writer calls until of the other one's record. If that ends the
// goroutine, the transaction is rolled back as any other.
func TestHelperLeft(t *testing.T) {
	for name, read := range map[string]func(tx Tx[int, int]){
		"Get":          func(tx Tx[int, int]) { tx.Get(1) },
		"GetForUpdate": func(tx Tx[int, int]) { tx.GetForUpdate(1) },
		"Savepoint": func(tx Tx[int, int]) {
			_ = tx.Savepoint(func() error { tx.Get(1); return nil })
		},
		"All": func(tx Tx[int, int]) {
			for range tx.All() {
			}
		},
		"Commit": func(tx Tx[int, int]) { tx.Get(2); tx.Set(1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[int, int](t, still())
			m.Store(1, 1)
			leaves := false
			m.Expire(func(int, int) time.Time {
				if leaves {
					runtime.Goexit()
				}
				return time.Time{}
			})
			w := stage.New(t).Actor("writer", func() { m.Store(1, 2) }).To(hooks.StoreInstalled)
			leaves = true
			returned, panicked := run(func() {
				_ = m.Update(bg, nil, func(tx Tx[int, int]) error { read(tx); return nil })
			})
			leaves = false
			require.False(t, returned)
			require.Nil(t, panicked)
			w.Finish()
			requireValue(t, 2)(m.Load(1))
			checkQuiet(t, m)
		})
	}
}

// The goroutine that serves the watches helps a writer too. If until ends it all watches have a
// gap, and none waits for ever.
func TestHubLeft(t *testing.T) {
	m := newMap[int, int](t, still())
	m.Store(1, 1)
	var writer goid.ID
	var leaves atomic.Bool
	m.Expire(func(int, int) time.Time {
		if leaves.Load() && goid.Get() != writer {
			leaves.Store(false)
			runtime.Goexit()
		}
		return time.Time{}
	})
	all := m.Watch(t.Context(), nil)
	w := stage.New(t).Actor("writer", func() {
		writer = goid.Get()
		leaves.Store(true)
		m.Store(1, 2)
	}).To(hooks.Told)
	stage.Eventually(t, func() bool { return !leaves.Load() }, "nobody helps")
	w.Finish()
	told := make(chan error, 1)
	go func() {
		for _, err := range all {
			told <- err
			break
		}
	}()
	require.ErrorIs(t, stage.Await(t, told, "the watch is told nothing"), ErrGap)
	checkQuiet(t, m)
}
