package mvcc

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// A commit with many new keys gets through beside one that writes one of them, and what was not
// committed leaves the tree.
func TestOrderedLargeCommit(t *testing.T) {
	m := newOrdered[int](t, nil)
	n := 30_000
	if testing.Short() {
		n = 3000
	}
	c := stage.NewCrew(t)
	c.Loop(1, func(int, int) error {
		time.Sleep(200 * time.Microsecond)
		m.Store(0, 1)
		return nil
	})
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		for k := range n {
			tx.Set(k, k)
		}
	})
	c.Finish(t)
	require.Equal(t, n, len(pairs(m.Ascend(Range[int]{}))))
	before := m.index.Bytes()

	tx := m.Begin(nil)
	tx.Get(1)
	for k := range n {
		tx.Set(n+k, k)
	}
	m.Store(1, 0)
	require.ErrorIs(t, tx.Commit(), ErrConflict)
	require.Equal(t, n, len(heads(m)))
	require.Less(t, m.index.Bytes(), before+before/8, "leaves that are empty go")
}

// A structKey has fields with gaps between them, and a method that the tree must not call.
type structKey struct {
	a string
	b [3]int16
	c bool
}

func (k structKey) Copy() structKey { k.b[0]++; return k }

// A large value is one that Go keeps behind a pointer where it can.
type large [1 << 9]int

func TestOrderedKeysAreNotCopied(t *testing.T) {
	m := NewOrderedFunc[structKey, large](func(a, b structKey) int {
		return cmp.Compare(a.b[0], b.b[0])
	}, nil)
	defer m.Close()
	for i := range 1000 {
		m.Store(structKey{b: [3]int16{int16(i)}}, large{i})
	}
	n := 0
	for key, value := range m.Ascend(Range[structKey]{}) {
		require.EqualValues(t, n, key.b[0])
		require.Equal(t, n, value[0])
		n++
	}
	require.Equal(t, 1000, n)
}
