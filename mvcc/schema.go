package mvcc

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// Indexes.
//
// An index of a table is a table of its own: it has an entry for each index key of each record. It
// is written in the transaction that writes the record, and so commits with it, in the one step of
// a commit over several tables. Nothing else in the protocol knows of indexes. A writer to a table
// with indexes reads the old record first, to know which entries must go: this is a read of its
// transaction.
//
//   - X1: as of the epoch at which NewIndex was done, and every later one, an index has an entry
//     (i, k) if and only if the record k has index key i.
//   - X2: a writer has used the schema (the list of the indexes) that the table has when the
//     writer's version is installed. It compares the schemas after it has loaded the head that the
//     version covers, or, for a new key, under the lock of its bucket or leaf.
//
// NewIndex announces a new schema, passes through the locks of all buckets, and then writes every
// key once more, as it is, together with its entries. Why X1 follows: a version that was installed
// with the old schema is on top of a head that was loaded before the schema was announced, or its
// key had its cell before the locks had been passed through. So NewIndex meets the key. NewIndex's
// own write comes after that version, which has been decided by then. If the version was committed,
// NewIndex writes entries for its value; if not, its transaction finds the new schema when it
// installs again. A writer that installs on top of NewIndex's write has loaded this write, and so
// finds the new schema.

// A schema is the indexes of a table. It is never changed. Its functions have the types of the
// table, and are compiled where an index is made.
type schema struct {
	indexes []keptIndex
	// put buffers a write of v, which is not installed yet, in a transaction of the table that uses
	// the schema, and the writes to the indexes that follow from it.
	put func(tx DBTx, s *schema, v *chain.Node)
	// alters reports whether an index has to change when v takes the place of base.
	alters func(s *schema, base, v *chain.Node) bool
}

// A keptIndex is an index, for the table.
type keptIndex interface {
	named() string
	// describe returns the type of the index keys, and the core of the table of entries.
	describe() (key reflect.Type, table *engine, unique, ordered bool)
	// distinct counts index keys up to most; -1 if the index is not complete, or compare panics.
	distinct(most int) int
	// clear deletes all entries.
	clear(tx DBTx)
	close()
}

// A writtenIndex is an index, for writers to its table.
type writtenIndex[K comparable, V any] interface {
	keptIndex
	// change returns a function that writes the change of the index after a change of the record
	// key, or nil if the index does not change. was is the key before: equal, but maybe the other
	// zero. change calls the program's function of the index; the returned function does not.
	change(was K, old V, had bool, key K, value V, has bool) func(tx DBTx)
}

// schemaNow returns the schema, for a caller that has looked a key up.
func (m *core) schemaNow() *schema {
	hooks.Before(hooks.Read, unsafe.Pointer(&m.schema))
	return m.schema.Load()
}

// indexed reports whether the table has indexes: then every transaction that may write to it
// is one of the database.
func (m *core) indexed() bool { return m.schema.Load() != nil }

// schemaFor returns the schema that the transaction uses for its writes to the map. A transaction
// that is not of the database uses none, and conflicts if the map has one.
func (p *part) schemaFor() *schema {
	if p != &p.st.own && !p.hasWritten {
		p.schema = p.m.schema.Load()
	}
	return p.schema
}

// asWritten returns key with the bits of its last write, which may be those of the other zero. With
// own it looks in the record that the transaction sees, without own in the snapshot's.
func asWritten[K comparable](st *txn, key K, own bool) K {
	if !st.plain {
		if v := st.written(unsafe.Pointer(&key), own); v != nil {
			return chain.KeyOf[K](v)
		}
	}
	return key
}

// inside is In for a table that may have been closed.
func (m *core) inside(tx DBTx) DBTx {
	p := stateOf(tx.st).part(m)
	tx.check() // else the part may be for another transaction
	p.join()
	return DBTx{&p.txn, tx.gen}
}

func (m *Map[K, V]) inside(tx DBTx) Tx[K, V] { return Tx[K, V](m.at.inside(tx)) }

// read returns the version of a key of its table that the transaction sees, without its own writes.
func (tx DBTx) read(key unsafe.Pointer) *chain.Node {
	tx.check()
	p := partOf(tx.st)
	p.st.enter()
	v := p.get(tx.gen, key)
	p.st.leave()
	tx.check()
	runtime.KeepAlive(tx.st)
	return v
}

// write buffers a write of v, which is private, in a transaction of a table.
func (tx DBTx) write(v *chain.Node) {
	tx.check()
	if s := partOf(tx.st).schemaFor(); s != nil {
		s.put(tx, s, v)
	} else {
		partOf(tx.st).put(tx.gen, v)
	}
}

// buffer buffers a write of v alone: the indexes of the table are written by the caller.
//
//go:noinline
func (tx DBTx) buffer(v *chain.Node) { partOf(tx.st).put(tx.gen, v) }

// putIndexed is the put of a schema.
func putIndexed[K comparable, V any](of DBTx, s *schema, v *chain.Node) {
	tx, key := Tx[K, V](of), chain.KeyOf[K](v)
	value, has := chain.Present[K, V](v)
	old, had := getIn[K, V](of, key, false)
	was := asWritten(tx.st, key, true)
	var few [4]func(DBTx)
	changes := few[:0]
	for _, ix := range s.indexes {
		// change may panic, or use the transaction: nothing has been written yet.
		change := ix.(writtenIndex[K, V]).change(was, old, had, key, value, has)
		if change != nil {
			changes = append(changes, change)
		}
	}
	tx.check()
	of.buffer(v)
	for _, change := range changes {
		change(of)
	}
}

// altersIndexed is the alters of a schema.
func altersIndexed[K comparable, V any](s *schema, base, v *chain.Node) bool {
	was := chain.KeyOf[K](v)
	if base != nil {
		was = chain.KeyOf[K](base)
	}
	old, had := chain.Present[K, V](base)
	value, has := chain.Present[K, V](v)
	for _, ix := range s.indexes {
		if ix.(writtenIndex[K, V]).change(was, old, had, chain.KeyOf[K](v), value, has) != nil {
			return true
		}
	}
	return false
}

// writeIndexed writes v in a transaction, for a table with indexes that have to change. It returns
// a *UniqueError if a unique index does not allow the write.
func (m *core) writeIndexed(
	v *chain.Node, cond condition,
) (base *chain.Node, written bool, err error) {
	opts := forLibrary(always)
	if cond != nil {
		opts.MaxAttempts = mostLosses
	}
	err = m.db.Update(background, opts, func(tx DBTx) error {
		own := m.inside(tx)
		base = own.read(v.Key())
		if written = cond == nil || cond(base); !written {
			return nil
		}
		tomb := chain.Load(&v.State) & chain.TombBit // cond may have changed it
		mine := m.types.clone(v)                     // a new version for each attempt
		chain.SetWord(&mine.State, tomb)
		own.write(mine)
		return nil
	})
	if errors.Is(err, ErrConflict) {
		panic(errOwnKey)
	}
	return base, written, err
}

// updateIndexed is update for a table with indexes.
func (m *core) updateIndexed(
	ctx context.Context, opts *TxOptions, fn func(tx DBTx) error,
) error {
	return m.db.Update(ctx, opts, func(tx DBTx) error { return fn(m.inside(tx)) })
}
