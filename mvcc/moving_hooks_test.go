//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A key that is being inserted is there for nobody, or for all: for one that comes back to the
// cell that it had before, and for one that looks for it.
func TestKeyIsThereForAll(t *testing.T) {
	m := newMap[int, int](t, still())
	x := m.index
	m.Store(1, 1)
	h := m.hash(1)
	p, v := x.Find(h, keyAt(1))
	require.True(t, x.Remove(index.Place{}, v))
	w := stage.New(t).Actor("writer", func() { m.Store(1, 2) }).To(hooks.CellTagged)
	_, back := x.Again(p, h, keyAt(1))
	_, found := x.Find(h, keyAt(1))
	require.Same(t, found, back)
	w.Finish()
	now, head := x.Again(p, h, keyAt(1))
	require.Equal(t, p, now)
	require.NotNil(t, head)
}
