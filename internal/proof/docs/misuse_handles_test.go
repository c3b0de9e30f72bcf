package docs

import (
	"context"
	"testing"

	"github.com/mvccmap/mvccmap/mvcc"
)

// misusedHandles are programs with handles that were never made, or are used too late.
var misusedHandles = []misuses{
	{"Never made, nil, or without a meaning", []misuse{
		{"a method of a zero `Map`", panics(func() { new(table).Store("k", 1) }), ""},
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
		{"use of a map after `m.Close`", onMap(func(m *table) error {
			m.Close()
			m.Close()
			return m.Update(bg, nil, increment)
		}), "it works as before, without a goroutine; but nothing expires any more"},
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
	}},
}
