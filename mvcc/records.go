package mvcc

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// A seamTable is a core as a [seam.Table], by which package durable saves and loads the records of
// tables.
type seamTable core

func seamOf(m *core) seam.Table { return (*seamTable)(m) }

func (t *seamTable) Name() string                     { return t.counters.name }
func (t *seamTable) ID() int                          { return t.ordinal }
func (t *seamTable) Types() (key, value reflect.Type) { return t.types.key, t.types.value }
func (t *seamTable) Boxes() *seam.Boxes               { return t.types.boxes() }
func (t *seamTable) Loader() seam.Loader              { return t.types.loader(hide((*core)(t))) }
func (t *seamTable) Equal(a, b unsafe.Pointer) bool   { return t.index.Hash.Equal(a, b) }
func (t *seamTable) Boxed(key unsafe.Pointer) any     { return t.index.Hash.Boxed(key) }

func (t *seamTable) Key(v *seam.Version) unsafe.Pointer { return nodeAt(v).Key() }

func (t *seamTable) Changed(changes any, i int) (*seam.Version, bool) {
	v, has := t.types.changed(changes, i)
	return versionOf(v), has
}

func (t *seamTable) Unchanged(key unsafe.Pointer, since uint64, deleted bool) bool {
	if t.closed.Load() {
		return false
	}
	_, _, head := t.index.Seek(key)
	v := (*core)(t).Newest(head)
	if v == nil {
		return deleted
	}
	return uint64((*core)(t).Decide(v, t.Slots.Now())) <= since
}

func versionOf(v *chain.Node) *seam.Version { return (*seam.Version)(unsafe.Pointer(v)) }
func nodeAt(v *seam.Version) *chain.Node    { return (*chain.Node)(unsafe.Pointer(v)) }

func (db door) Table(name string) seam.Table {
	if t := tableOf(db.DB, name); t != nil {
		return seamOf(t)
	}
	return nil
}

func (db door) Owns(s DBSnapshot) bool {
	s.check()
	return stateOf(s.st).m.shared == dbAt(db.DB).shared
}

func (door) Tables(s DBSnapshot) []seam.Table { return seamList(seenIn(s)) }

func (door) ClosedTables(s DBSnapshot, to uint64) []seam.Table { return seamList(closedSince(s, to)) }

func seamList(list []*core) []seam.Table {
	all := make([]seam.Table, len(list))
	for i, m := range list {
		all[i] = seamOf(m)
	}
	return all
}

func (door) Scan(
	t seam.Table, s, since DBSnapshot, visit func(v *seam.Version, deleted bool) bool,
) {
	of := hide((*core)(t.(*seamTable))).seen
	if since.st != nil {
		of(s).diff(of(since), func(v, _, is *chain.Node) bool { return visit(versionOf(v), !is.There()) })
		return
	}
	c := new(chunk)
	of(s).ranged(c, nil, false, func() bool {
		for _, v := range c.found[:c.n] {
			if !visit(versionOf(v), false) {
				return false
			}
		}
		return true
	})
}

func (door) Changes(
	c DBCommit, visit func(t seam.Table, changes any, n int),
) (closed seam.Table) {
	for _, t := range c.tables {
		visit(seamOf(coreAt(t.of)), t.changes, t.n)
	}
	if c.closed != nil {
		closed = seamOf(coreAt(c.closed))
	}
	return closed
}

func (db door) Load(ctx context.Context, fn func(tx DBTx)) (at uint64, wrote bool, err error) {
	// At level snapshot a key that is written meanwhile, and is not in the backup, would stay.
	exact := forLibrary(DefaultMaxAttempts)
	exact.long = true
	err = db.Update(ctx, exact, func(tx DBTx) error {
		fn(tx)
		wrote = len(stateOf(tx.st).writes) > 0
		tx.OnCommit(func(e uint64) { at = e })
		return stateOf(tx.st).extra.allNotUnique(tx)
	})
	return at, wrote, err
}

func boxesFor[K comparable, V any]() *seam.Boxes {
	x := new(struct {
		record    seam.Saved[K, V]
		key, back seam.SavedKey[K]
	})
	fill := func(of *seam.Version, deleted bool) {
		v := nodeAt(of)
		x.record = seam.Saved[K, V]{K: chain.KeyOf[K](v), D: deleted}
		if !deleted {
			x.record.V = chain.ValueOf[K, V](v)
		}
		x.key, x.back = seam.SavedKey[K]{K: x.record.K, D: deleted}, seam.SavedKey[K]{}
	}
	return &seam.Boxes{Record: &x.record, Key: &x.key, Back: &x.back,
		BackKey: unsafe.Pointer(&x.back.K), Fill: fill}
}

const blockSize = 1024

// A tableLoader is the loader of a map.
type tableLoader[K comparable, V any] struct {
	m *Map[K, V]
	// list has n records in blocks. All but the last are full, and are not copied any more.
	list  [][]seam.Saved[K, V]
	n     int
	at    map[K]int // the place of a key's record in list
	clear bool      // Apply deletes all records of the map first
	all   bool      // list has each record added, in order, instead of the last one of each key
}

func newLoader[K comparable, V any](of *engine) seam.Loader {
	return &tableLoader[K, V]{m: mapOf[K, V](of), at: map[K]int{}}
}

func (l *tableLoader[K, V]) Add(dec interface{ Decode(v any) error }, once bool) error {
	var r seam.Saved[K, V]
	if err := seam.DecodeRecord(dec, &r); err != nil {
		return err
	}
	if !l.m.plain && !reflect.ValueOf(&r.K).Elem().Comparable() {
		return fmt.Errorf("the key %s (%T) cannot be compared", seam.KeyText(r.K), r.K)
	}
	if l.m.badKey(useTx, r.K) {
		return fmt.Errorf("the key %v (%s) is not equal to itself", r.K, hasher.TypeOf((*K)(nil)))
	}
	at, there := l.at[r.K]
	switch {
	case !there:
		if !l.all {
			l.at[r.K] = l.n
		}
		if l.n%blockSize == 0 {
			l.list = append(l.list, make([]seam.Saved[K, V], 0, min(l.n+1, blockSize)))
		}
		last := &l.list[l.n/blockSize]
		*last = append(*last, r)
		l.n++
	case once:
		return fmt.Errorf("its key is %s, and so is that of record %d: which one is right is not known",
			seam.KeyText(r.K), at+1)
	default:
		l.list[at/blockSize][at%blockSize] = r
	}
	return nil
}

func (l *tableLoader[K, V]) Renew() { l.list, l.n, l.at, l.clear = nil, 0, map[K]int{}, true }

func (l *tableLoader[K, V]) InOrder() { l.all, l.at = true, nil }

func (l *tableLoader[K, V]) Apply(of any, from, to int) {
	tx := of.(DBTx)
	l.at = nil
	in := l.m.inside(tx)
	if l.clear && from == 0 {
		DBTx(in).deleteAll()
	}
	if to < 0 {
		to = l.n
	}
	expectWrites(tx, to-from)
	for i := from; i < to; i++ {
		if r := &l.list[i/blockSize][i%blockSize]; r.D {
			in.Delete(r.K)
		} else {
			in.Set(r.K, r.V)
		}
	}
}

// expectWrites has a transaction make room for n more keys to be written.
//
//go:noinline
func expectWrites(tx DBTx, n int) {
	st := stateOf(tx.st)
	st.writes = slices.Grow(st.writes, n)
}
