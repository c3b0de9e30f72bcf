package mvcc

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A bad option panics with a text that names it.
func TestBadOptions(t *testing.T) {
	for field, opts := range map[string]*Options{
		"Capacity":        {Capacity: -1},
		"Isolation":       {Isolation: 3},
		"ReclaimInterval": {ReclaimInterval: -1},
		"ReclaimQueue":    {ReclaimQueue: -1},
		"PruneThreshold":  {PruneThreshold: -1},
		"MaxTxAge":        {MaxTxAge: -1},
		"PinWarnAge":      {PinWarnAge: -1},
	} {
		require.Contains(t, panicOf(func() { New[int, int](opts) }), "Options."+field)
	}
	require.Contains(t, panicOf(func() {
		New[int, int](&Options{PruneThreshold: 64})
	}), "Options.PruneThreshold")

	// An absurd value is refused by a sentence.
	for name, make := range map[string]func(){
		"Options.Capacity": func() { New[int, int](&Options{Capacity: maxCapacity + 1}) },
		"TableOptions.Capacity": func() {
			NewTable[int, int](NewDB(nil), "t", &TableOptions{Capacity: math.MaxInt})
		},
		"Options.ReclaimQueue": func() { New[int, int](&Options{ReclaimQueue: math.MaxInt}) },
	} {
		text, _ := panicOf(make).(string)
		require.Contains(t, text, "mvcc: "+name+" is ")
		require.Contains(t, text, ", want at most ")
	}
	m := newMap[int, int](t, nil)
	fn := func(Tx[int, int]) error { t.Error("fn is called"); return nil }
	require.Contains(t, panicOf(func() { m.Begin(&TxOptions{Isolation: 3}) }), "TxOptions.Isolation")
	require.Contains(t, panicOf(func() {
		_ = m.Update(bg, &TxOptions{Isolation: 3}, fn)
	}), "TxOptions.Isolation")
	require.Contains(t, panicOf(func() {
		_ = m.Update(bg, &TxOptions{MaxAttempts: -1}, fn)
	}), "TxOptions.MaxAttempts")
	checkQuiet(t, m)
}

func TestErrors(t *testing.T) {
	m := newMap[string, int](t, nil)
	m.Store("the key", 1)
	tx := m.Begin(nil)
	at := tx.Epoch()
	tx.Get("the key")
	tx.Set("other", 1)
	m.Store("the key", 2)
	err := fmt.Errorf("wrapped: %w", tx.Commit())
	require.ErrorIs(t, err, ErrConflict)
	require.NotErrorIs(t, err, ErrTxDone)
	var c *ConflictError
	require.ErrorAs(t, err, &c)
	want := &ConflictError{Key: "the key", Kind: ConflictRead, ReadEpoch: at,
		CommitEpoch: at + 1, Attempts: 1}
	require.Empty(t, cmp.Diff(want, c, cmpopts.IgnoreUnexported(ConflictError{})))
	require.Contains(t, err.Error(), "the key")
	require.Contains(t, err.Error(), "read conflict")
	for _, e := range []error{ErrConflict, ErrTxDone, ErrTxTooOld, ErrBadKey} {
		require.Contains(t, e.Error(), "mvcc: ")
	}
}

// A misuse that Go can name ends in one sentence that does.
func TestMisuse(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("a", 1)
	var zero Map[string, int]
	var tx Tx[string, int]
	var s Snapshot[string, int]
	var none context.Context
	noTx := func(Tx[string, int]) error { return nil }
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"Map.Load":    {func() { zero.Load("a") }, errZeroMap},
		"Map.Store":   {func() { zero.Store("a", 1) }, errZeroMap},
		"Map.Delete":  {func() { zero.Delete("a") }, errZeroMap},
		"Map.Compute": {func() { zero.Merge("a", add(1)) }, errZeroMap},
		"Map.DeleteFunc": {func() {
			zero.DeleteFunc(func(string, int) bool { return true })
		}, errZeroMap},
		"Map.Clear":   {func() { zero.Clear() }, errZeroMap},
		"Map.Range":   {func() { zero.Range(nil) }, errZeroMap},
		"Map.Len":     {func() { zero.Len() }, errZeroMap},
		"Map.Epoch":   {func() { zero.Epoch() }, errZeroMap},
		"Map.Stats":   {func() { zero.Stats() }, errZeroMap},
		"Map.Close":   {func() { zero.Close() }, errZeroMap},
		"Map.Reclaim": {func() { _ = zero.Reclaim(bg) }, errZeroMap},
		"Map.View": {func() {
			_ = zero.View(func(Snapshot[string, int]) error { return nil })
		}, errZeroMap},
		"Map.Update":     {func() { _ = zero.Update(bg, nil, noTx) }, errZeroMap},
		"Map.Begin":      {func() { zero.Begin(nil) }, errZeroMap},
		"Map.SnapshotAt": {func() { _, _ = zero.SnapshotAt(1) }, errZeroMap},
		"Tx.Get":         {func() { tx.Get("a") }, errZeroTx},
		"Tx.Has":         {func() { tx.Has("a") }, errZeroTx},
		"Tx.Set":         {func() { tx.Set("a", 1) }, errZeroTx},
		"Tx.Delete":      {func() { tx.Delete("a") }, errZeroTx},
		"Tx.Merge":       {func() { tx.Merge("a", add(1)) }, errZeroTx},
		"Tx.Savepoint":   {func() { _ = tx.Savepoint(nil) }, errZeroTx},
		"Tx.OnCommit":    {func() { tx.OnCommit(nil) }, errZeroTx},
		"Tx.All":         {func() { tx.All()(nil) }, errZeroTx},
		"Tx.Epoch":       {func() { tx.Epoch() }, errZeroTx},
		"Tx.Err":         {func() { _ = tx.Err() }, errZeroTx},
		"Tx.Commit":      {func() { _ = tx.Commit() }, errZeroTx},
		"Snapshot.Get":   {func() { s.Get("a") }, errZeroSnapshot},
		"Snapshot.Has":   {func() { s.Has("a") }, errZeroSnapshot},
		"Snapshot.All":   {func() { s.All()(nil) }, errZeroSnapshot},
		"Snapshot.Len":   {func() { s.Len() }, errZeroSnapshot},
		"Snapshot.Epoch": {func() { s.Epoch() }, errZeroSnapshot},
		"Snapshot.Try":   {func() { _ = s.Try(nil) }, errZeroSnapshot},
		"Try":            {func() { _ = m.Snapshot().Try(nil) }, "mvcc: Try: fn is nil"},
		"Reclaim": {func() {
			_ = m.Reclaim(none)
		}, "mvcc: Reclaim: ctx is nil, want context.Background() or another one"},
		"nil context": {func() {
			_ = m.Update(none, nil, noTx)
		}, "mvcc: Update: ctx is nil, want context.Background() or another one"},
		"Map.Ascend": {func() {
			m.Ascend(Range[string]{})
		}, "mvcc: the keys of the map have no order: make it with mvcc.NewOrdered"},
		"NewOrderedFunc": {func() {
			NewOrderedFunc[string, int](nil, nil)
		}, "mvcc: NewOrderedFunc: compare is nil"},
		"NewOrderedTableFunc": {func() {
			NewOrderedTableFunc[string, int](NewDB(nil), "t", nil, nil)
		}, "mvcc: NewOrderedTableFunc: compare is nil"},
		"OnExpire":      {func() { m.OnExpire(nil) }, "mvcc: OnExpire: fn is nil"},
		"Update":        {func() { _ = m.Update(bg, nil, nil) }, "mvcc: Update: fn is nil"},
		"View":          {func() { _ = m.View(nil) }, "mvcc: View: fn is nil"},
		"Range":         {func() { m.Range(nil) }, "mvcc: Range: f is nil"},
		"Compute":       {func() { m.Compute("a", nil) }, "mvcc: Compute: fn is nil"},
		"LoadOrCompute": {func() { m.LoadOrCompute("a", nil) }, "mvcc: LoadOrCompute: fn is nil"},
		"Merge":         {func() { m.Merge("a", nil) }, "mvcc: Merge: fn is nil"},
		"DeleteFunc":    {func() { m.DeleteFunc(nil) }, "mvcc: DeleteFunc: del is nil"},
		"UpdateValue": {func() {
			_, _ = UpdateValue[string, int, int](bg, m, nil, nil)
		}, "mvcc: UpdateValue: fn is nil"},
		"Tx.Merge, nil": {func() {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Merge("a", nil); return nil })
		}, "mvcc: Merge: fn is nil"},
	} {
		t.Run(name, func(t *testing.T) { require.PanicsWithValue(t, c.want, c.do) })
	}
	s.Close()
	tx.Rollback()
	runtime.GC() // the snapshot of Try
	ended := func() bool { runtime.GC(); return m.Stats().LiveTx == 0 }
	stage.Eventually(t, ended, "a snapshot is left")
	checkQuiet(t, m)
}
