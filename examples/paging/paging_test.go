package paging_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/examples/paging"
	"github.com/mvccmap/mvccmap/mvcc"
)

func TestPagesAreOfOneMoment(t *testing.T) {
	m := mvcc.New[int, string](nil)
	defer m.Close()
	for i := range 25 {
		m.Store(i, "old")
	}

	c := paging.Open(m)
	defer c.Close()
	seen := map[int]string{}
	for _, want := range []int{10, 10, 5, 0} {
		page, err := c.Page(10)
		require.NoError(t, err)
		require.Len(t, page, want)
		for _, p := range page {
			require.NotContains(t, seen, p.Key)
			seen[p.Key] = p.Value
		}
		for i := range 50 { // between the requests
			m.Store(i, "new")
		}
	}
	require.Len(t, seen, 25)
	require.NotContains(t, seen, 25)
	for _, value := range seen {
		require.Equal(t, "old", value)
	}
}

// The client sleeps for too long: the map has ended the snapshot, and the next page says so.
func TestTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mvcc.New[int, string](&mvcc.Options{MaxTxAge: time.Minute})
		defer m.Close() // its goroutines must end with the bubble
		for i := range 25 {
			m.Store(i, "old")
		}

		c := paging.Open(m)
		defer c.Close()
		_, err := c.Page(10)
		require.NoError(t, err)
		require.Equal(t, 1, m.Stats().LiveTx)

		time.Sleep(2 * time.Minute) // of the bubble
		require.EqualValues(t, 1, m.Stats().Evicted)
		_, err = c.Page(10)
		require.ErrorIs(t, err, mvcc.ErrTxTooOld)
	})
}

// What a client gives up, or has read to its end, is not kept.
func TestClosed(t *testing.T) {
	m := mvcc.New[int, string](nil)
	defer m.Close()
	m.Store(1, "x")

	paging.Open(m).Close()
	c := paging.Open(m)
	_, err := c.Page(10)
	require.NoError(t, err)
	require.Zero(t, m.Stats().LiveTx)
}
