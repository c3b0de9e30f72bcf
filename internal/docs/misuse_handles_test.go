package docs

import (
	"context"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// misusedHandles are programs with what was never made, or is used too late.
var misusedHandles = []misuses{
	{"Never made, nil, or without a meaning", []misuse{
		{"a method of a zero `Map`", panics(func() { new(table).Store("k", 1) }), ""},
		{"a method of a nil `*Map`", panics(func() { (*table)(nil).Store("k", 1) }), ""},
		{"printing a zero or nil `Map`", panics(func() {
			_ = fmt.Sprint(new(table), (*table)(nil))
		}), "it says that it is one"},
		{"a method of a zero `Tx` or `DBTx`", panics(func() { txn{}.Get("k") }), ""},
		{"its `Rollback`", panics(func() {
			txn{}.Rollback()
			mvcc.DBTx{}.Rollback()
		}), "it may be deferred at once"},
		{"a method of a zero `Snapshot` or `DBSnapshot`", panics(func() {
			snapshot{}.Get("k")
		}), ""},
		{"its `Close`", panics(func() {
			snapshot{}.Close()
			mvcc.DBSnapshot{}.Close()
		}), "it may be deferred at once"},
		{"a method of a zero or nil `DB`", panics(func() { new(mvcc.DB).Begin(nil) }), ""},
		{"a method of a zero or nil `Index`", panics(func() {
			loop(new(mvcc.Index[int, string, int]).Get(nil, 1))
		}), ""},
		{"`Update` with a nil context", onMap(func(m *table) error {
			return m.Update(none, nil, increment)
		}), ""},
		{"`Update` with a nil function", onMap(func(m *table) error {
			return m.Update(bg, nil, nil)
		}), ""},
		{"`Save` with a nil writer", onShop(func(db *mvcc.DB, _, _ *table) error {
			_, err := db.Save(bg, nil, codec.Gob, nil)
			return err
		}), ""},
		{"`Save` or `Load` with a zero `Codec`", onShop(func(db *mvcc.DB, _, _ *table) error {
			_, err := db.Save(bg, io.Discard, mvcc.Codec{}, nil)
			return err
		}), ""},
		{"a negative `Options.Capacity`", panics(func() {
			mvcc.New[int, int](&mvcc.Options{Capacity: -1})
		}), ""},
		{"an `Isolation` that is no level", onMap(func(m *table) error {
			m.Begin(&mvcc.TxOptions{Isolation: 9})
			return nil
		}), ""},
		{"a negative `WatchOptions.Buffer`", onMap(func(m *table) error {
			m.Watch(bg, &mvcc.WatchOptions[string, int]{Buffer: -1})
			return nil
		}), ""},
	}},
	{"Too late", []misuse{
		{"`m.Expire` after `m.Close`", onMap(func(m *table) error {
			m.Close()
			m.Expire(func(string, int) time.Time { return time.Time{} })
			return nil
		}), ""},
		{"`tx.Get` after `Commit`, or after `Update` has returned", onMap(func(m *table) error {
			tx := m.Begin(nil)
			_ = tx.Commit()
			tx.Get("k")
			return nil
		}), "however late, and whatever has become of the memory"},
		{"`tx.Commit` a second time", onMap(func(m *table) error {
			tx := m.Begin(nil)
			_ = tx.Commit()
			return tx.Commit()
		}), ""},
		{"`tx.Rollback` after `Commit`", onMap(func(m *table) error {
			tx := m.Begin(nil)
			defer tx.Rollback()
			return tx.Commit()
		}), "it may be deferred"},
		{"`tx.Commit` or `tx.Rollback` in the function of `Update`", onTx(func(_ *table, tx txn) error {
			return tx.Commit()
		}),
			"the commit stands"},
		{"`s.Get` after `Close`, or after `View` has returned", onSnapshot(func(_ *table, s snapshot) {
			s.Close()
			s.Get("k")
		}), ""},
		{"`s.Close` a second time", onSnapshot(func(_ *table, s snapshot) { s.Close() }), ""},
		{"the next step of a loop over `s.All()` after `Close`", onSnapshot(func(m *table, s snapshot) {
			m.Clear() // which s does not see
			next, stop := iter.Pull2(s.All())
			defer stop()
			s.Close()
			next()
		}), ""},
		{"`s.Try` after `Close`", onMap(func(m *table) error {
			s := m.Snapshot()
			s.Close()
			return s.Try(func() error { s.Get("k"); return nil })
		}), ""},
		{"`users.In(tx)` after `tx` has ended", onShop(func(db *mvcc.DB, users, _ *table) error {
			tx := db.Begin(nil)
			tx.Rollback()
			users.In(tx)
			return nil
		}), ""},
		{"a read through a snapshot older than `MaxTxAge`", func(t *testing.T) error {
			evicted(t).Get("k")
			return nil
		}, ""},
		{"the same in `s.Try`", func(t *testing.T) error {
			s := evicted(t)
			return s.Try(func() error { s.Get("k"); return nil })
		}, ""},
		{"`m.SnapshotAt` of an epoch that is gone", onMap(func(m *table) error {
			_, err := m.SnapshotAt(0)
			return err
		}), ""},
		{"`m.SnapshotAt` of an epoch to come", onMap(func(m *table) error {
			_, err := m.SnapshotAt(m.Epoch() + 9)
			return err
		}), ""},
		{"use of a map after `m.Close`", onMap(func(m *table) error {
			m.Close()
			m.Close()
			return m.Update(bg, nil, increment)
		}), "it works as before, without a goroutine; but nothing expires any more"},
		{"`users.In(tx)` after `users.Close`", onShop(func(db *mvcc.DB, users, _ *table) error {
			tx := db.Begin(nil)
			defer tx.Rollback()
			users.Close()
			users.In(tx)
			return nil
		}), ""},
		{"reading an index in a snapshot that is older", onShop(func(_ *mvcc.DB, users, _ *table) error {
			s := users.Snapshot()
			defer s.Close()
			ix, err := mvcc.NewIndex(users, "by n", valueOf, nil)
			ix.First(s, 1)
			return err
		}), ""},
		{"a second loop over the iterator of `Watch`", onMap(func(m *table) error {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			watch := m.Watch(ctx, nil)
			loop(watch)
			loop(watch)
			return nil
		}), ""},
		{"`j.Sync` of a journal after `Close`", func(t *testing.T) error {
			db, _, _ := newShop(t)
			j, err := journal.Open(bg, t.TempDir(), db, codec.Gob, nil)
			require.NoError(t, err)
			require.NoError(t, j.Close())
			return j.Sync(bg)
		}, ""},
	}},
}
