package etcd

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Notes of records that are deleted, and made again, long before their time do not pile up; and
// each record that there is keeps the earliest one that it was given.
func TestNotesDoNotPileUp(t *testing.T) {
	s := NewSchema(nil)
	sessions := NewTable[string, int](s, "sessions", nil)
	began := time.Now()
	sessions.Expire(func(_ string, hours int) time.Time { return began.Add(time.Duration(hours) * time.Hour) })
	now := began
	d := &dues[string, int]{t: sessions, db: &DB{cfg: Config{Now: func() time.Time { return now }}},
		noted: map[string]time.Time{}, tries: map[string]int{}}
	apply := func(change mvcc.Change[string, int]) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.changed(change)
	}
	const stay = 50
	for i := range stay {
		apply(mvcc.Change[string, int]{Key: fmt.Sprint("stays", i), New: 1 + i%2, Has: true})
	}
	for i := range 100_000 {
		key := fmt.Sprint(i % 10)
		apply(mvcc.Change[string, int]{Key: key, New: 24, Has: true})
		apply(mvcc.Change[string, int]{Key: key})
		require.LessOrEqual(t, len(d.list), 2*(stay+10)+manyNotes)
	}
	require.Empty(t, d.take(stay))
	now = began.Add(time.Hour)
	require.Len(t, d.take(stay+1), stay/2)
	now = began.Add(30 * time.Hour)
	require.Len(t, d.take(stay+1), stay/2)
	require.Empty(t, d.noted)
}
