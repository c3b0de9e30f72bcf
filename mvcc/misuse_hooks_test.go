//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A Tx is used by two goroutines: while one is in a method, the other one's panic says
// so, and the first goes on as if nothing had happened.
func TestTxUsedByTwoGoroutines(t *testing.T) {
	for _, p := range []hooks.Point{hooks.CommitEntries, hooks.Installed, hooks.Announced,
		hooks.Tentative, hooks.Validated} {
		m := newMap[string, int](t, still())
		m.Store("a", 1)
		tx := m.Begin(nil)
		tx.Get("a")
		tx.Set("b", 2)
		tx.Set("c", 3)
		var err error
		commit := stage.New(t).Actor("commit", func() { err = tx.Commit() }).To(p)
		for name, misuse := range map[string]func(){
			"Get":      func() { tx.Get("a") },
			"Get own":  func() { tx.Get("b") },
			"Set":      func() { tx.Set("b", 4) },
			"Delete":   func() { tx.Delete("b") },
			"All":      func() { tx.All()(func(string, int) bool { return true }) },
			"Err":      func() { _ = tx.Err() },
			"Commit":   func() { _ = tx.Commit() },
			"Rollback": func() { tx.Rollback() },
			"in Update": func() {
				_ = m.Update(bg, nil, func(Tx[string, int]) error { tx.Set("b", 5); return nil })
			},
		} {
			require.Equal(t, any(errConcurrentUse), panicOf(misuse), "%s at %v", name, p)
		}
		commit.Finish()
		require.NoError(t, err)
		tx.Rollback() // late, and harmless
		require.Equal(t, map[string]int{"a": 1, "b": 2, "c": 3}, contents(t, m))
		checkQuiet(t, m)
	}
}
