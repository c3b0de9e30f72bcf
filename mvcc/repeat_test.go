package mvcc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call that may be made once says so in the function of an Update, and blames no name.
func TestOnceInUpdate(t *testing.T) {
	db := NewDB(nil)
	defer db.Close()
	m := NewTable[int, int](db, "numbers", nil)
	const again = "it is called in the function of an Update, which may run again"
	inUpdates := func(call func()) {
		requirePanicText(t, again, func() {
			_ = db.Update(bg, nil, func(DBTx) error { call(); return nil })
		})
		requirePanicText(t, again, func() {
			_ = m.Update(bg, nil, func(Tx[int, int]) error { deeper(300, call); return nil })
		})
	}
	makeIndex := func() { _, _ = NewIndex(m, "a", tagsOf, nil) }
	inUpdates(makeIndex)
	require.NoError(t, db.View(func(DBSnapshot) error { makeIndex(); return nil }))
	require.NoError(t, db.Update(bg, nil, func(tx DBTx) error {
		tx.OnCommit(func(uint64) {
			_, err := NewIndex(m, "late", tagsOf, nil)
			require.NoError(t, err)
		})
		return nil
	}))
	inUpdates(func() {
		tx := m.Begin(nil)
		tx.OnCommit(func(uint64) { makeIndex() })
		_ = tx.Commit()
	})

	m.Expire(func(int, int) time.Time { return time.Time{} })
	inUpdates(func() { m.Expire(func(int, int) time.Time { return time.Time{} }) })
	inUpdates(func() { NewTable[int, int](db, "numbers", nil) })
	require.PanicsWithValue(t, "mvcc: Expire: it was called before",
		func() { m.Expire(func(int, int) time.Time { return time.Time{} }) })
	require.PanicsWithValue(t, `mvcc: NewTable: there is a table "numbers" already`,
		func() { NewTable[int, int](db, "numbers", nil) })
}

// deeper calls f with so many frames in between.
func deeper(n int, f func()) {
	if n > 0 {
		deeper(n-1, f)
	} else {
		f()
	}
}
