package floor

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func keysAndValues(n int) (keys []string, values []uint64) {
	for i := range n {
		keys = append(keys, "key-"+strconv.Itoa(i))
		values = append(values, uint64(i)+100)
	}
	return keys, values
}

func load(m *Map, key string) uint64 {
	tx := m.Begin()
	defer m.End(tx)
	v, _ := m.Get(tx, key)
	return v
}

func TestOneGoroutine(t *testing.T) {
	keys, values := keysAndValues(10)
	m := New(keys, values)
	tx := m.Begin()
	for i, k := range keys {
		v, ok := m.Get(tx, k)
		require.True(t, ok)
		require.Equal(t, values[i], v)
	}
	_, ok := m.Get(tx, "no such key")
	require.False(t, ok)
	require.False(t, m.Put("no such key", 1))
	_, _, ok = m.Add("no such key", 1, nil)
	require.False(t, ok)

	require.True(t, m.Put(keys[3], 7))
	sum, lost, ok := m.Add(keys[3], 5, nil)
	require.True(t, ok)
	require.Zero(t, lost)
	require.EqualValues(t, 12, sum)
	require.EqualValues(t, 12, load(m, keys[3]))
	old, _ := m.Get(tx, keys[3])
	require.Equal(t, values[3], old, "an open transaction sees what it saw")
	m.End(tx)
}

// A reader stays open while its key is overwritten a thousand times: it keeps
// its version, and the chain stays short.
func TestOpenReaderAndPruning(t *testing.T) {
	keys, values := keysAndValues(1)
	m := New(keys, values)
	m.Put(keys[0], 1)
	tx := m.Begin()
	for i := range uint64(1_000) {
		m.Put(keys[0], i+2)
		require.LessOrEqual(t, m.Versions(keys[0]), pruneEvery+3)
	}
	v, _ := m.Get(tx, keys[0])
	require.EqualValues(t, 1, v)
	m.End(tx)
	require.EqualValues(t, 1_001, load(m, keys[0]))

	for i := range uint64(1_000) {
		m.Put(keys[0], i)
		require.LessOrEqual(t, m.Versions(keys[0]), pruneEvery+2, "nobody reads: the newest and what was added since")
	}
}

// More transactions open at once than the pool starts with.
func TestManyOpenTransactions(t *testing.T) {
	keys, values := keysAndValues(1)
	m := New(keys, values)
	var open []*Tx
	for i := range uint64(1_000) {
		m.Put(keys[0], i)
		open = append(open, m.Begin())
	}
	for i, tx := range open {
		v, _ := m.Get(tx, keys[0])
		require.EqualValues(t, i, v)
	}
	for _, tx := range open {
		m.End(tx)
	}
}

// Writers add to two keys; no addition is lost, and a reader never sees a key go
// backwards.
func TestConcurrentAddsAndReads(t *testing.T) {
	keys, _ := keysAndValues(2)
	m := New(keys, []uint64{0, 0})
	const writers, each = 4, 5_000
	var wg sync.WaitGroup
	var done atomic.Bool
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				m.Add(keys[(w+i)%2], 1, nil)
			}
		})
	}
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var last [2]uint64
			for stop := false; !stop; {
				stop = done.Load()
				tx := m.Begin()
				for i, k := range keys {
					v, _ := m.Get(tx, k)
					if v < last[i] {
						t.Errorf("key %d went from %d to %d", i, last[i], v)
					}
					last[i] = v
				}
				m.End(tx)
			}
		})
	}
	wg.Wait()
	done.Store(true)
	readers.Wait()
	require.EqualValues(t, writers*each, load(m, keys[0])+load(m, keys[1]))
}

func TestReadsDoNotAllocate(t *testing.T) {
	keys, values := keysAndValues(4)
	m := New(keys, values)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tx := m.Begin()
		m.Get(tx, keys[1])
		m.End(tx)
	}))
}
