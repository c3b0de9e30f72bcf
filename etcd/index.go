package etcd

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// Who reads an index key depends on which records have it. So there is a guard for each bucket of
// index keys, which a commit puts if a record enters or leaves one of them. Why a reader misses
// nothing, which has read as of revision R, and compares that the guard was not put after R:
//
//   - I1: each commit after R to the table is one of the class of the reader, or of another one,
//     see [Schema]: it puts the guard of the table that its class has. The reader compares that no
//     guard of another class was put after R.
//   - I2: processes of one class have the same indexes, by the same names, whose keys they make
//     bytes and buckets of in the same way. A commit that changes which records have an index key
//     has read the record before, and compares that it is still that. So it knows which index keys
//     the record enters and leaves, and puts their guards; or so many that it puts none, and then
//     it puts the guard of class none.
//   - I3: as of R the process has applied all commits, loaded or followed: its records of the index
//     key are those that there were. Guards are not loaded: only those put after R matter.
//   - I4: that the functions of an index return the same is checked: by the writer, for the record
//     as it is once encoded and decoded; and by each process of the class, which finds the index
//     keys that change when it applies the commit, and must find their guards there.
type index struct {
	name string
	// shape says how keys become bytes: "" if there is no way to make the same ones in each
	// process. Such an index has no guards: who reads it compares the guard of the table.
	shape string
}

// indexFormat names how index keys have buckets: a version of this module that has another way has
// another class.
const indexFormat = "fnv64a, folded\n"

// classNone is the class of a commit that puts no guards of indexes.
const classNone = "-"

// classOf returns the class of the processes that have such indexes of a table.
func classOf(indexes map[string]index) string {
	var all []string
	for _, ix := range indexes {
		if ix.shape != "" {
			all = append(all, fmt.Sprintf("%q %s", ix.name, ix.shape))
		}
	}
	if len(all) == 0 {
		return classNone
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(indexFormat + strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:8])
}

// bucket returns the bucket of an index key, of 65,536: those that share one conflict like one key.
func (ix index) bucket(key any) uint16 {
	h := fnv.New64a()
	_, _ = h.Write(appendStable(nil, reflect.ValueOf(key))) // never fails
	sum := h.Sum64()
	return uint16(sum ^ sum>>16 ^ sum>>32 ^ sum>>48)
}

// stableShape says which bytes appendStable makes of values of type t, "" if it cannot.
func stableShape(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "int"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "uint"
	case reflect.Float32, reflect.Float64:
		return t.Kind().String()
	case reflect.Array:
		if of := stableShape(t.Elem()); of != "" {
			return fmt.Sprintf("[%d]%s", t.Len(), of)
		}
	case reflect.Struct:
		var all []string
		for i := range t.NumField() {
			of := "_" // is not compared
			if t.Field(i).Name != "_" {
				if of = stableShape(t.Field(i).Type); of == "" {
					return ""
				}
				of = t.Field(i).Name + " " + of // their order counts
			}
			all = append(all, of)
		}
		return "{" + strings.Join(all, "; ") + "}"
	}
	return ""
}

// appendStable appends the same bytes for equal values, in each process and version of a program.
func appendStable(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		switch {
		case f == 0:
			f = 0 // and not -0, which is equal
		case f != f:
			f = math.NaN() // one of them is enough
		}
		return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
	case reflect.Array:
		for i := range v.Len() {
			b = appendStable(b, v.Index(i))
		}
		return b
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" {
				b = appendStable(b, v.Field(i))
			}
		}
		return b
	}
	if v.CanInt() {
		return binary.BigEndian.AppendUint64(b, uint64(v.Int()))
	}
	return binary.BigEndian.AppendUint64(b, v.Uint())
}

// indexGuards returns the names of the guards of index keys that a transaction has read, or that
// change by it; ok is false if an index has none.
func (db *DB) indexGuards(t *replicate.Table, written bool) (names []string, ok bool) {
	indexes := db.schema.tables[t.Name].indexed()
	for i := range t.Indexes {
		of := &t.Indexes[i]
		keys := of.Reads
		if written {
			keys = of.Writes
		}
		if len(keys) == 0 {
			continue
		}
		ix := indexes[of.Name]
		if ix.shape == "" {
			if written {
				continue // nobody compares them
			}
			return nil, false
		}
		for _, key := range keys {
			names = append(names, db.keys.index(t.Name, ix.name, ix.bucket(key)))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// unchanged compares that no record has entered or left the index keys that were read of a table,
// since a revision; ok is false if that cannot be compared.
func (db *DB) unchanged(t *replicate.Table, since uint64) (cmps []clientv3.Cmp, ok bool) {
	names, ok := db.indexGuards(t, false)
	if !ok || len(names) == 0 {
		return nil, ok
	}
	at, own := db.keys.guards(t.Name), db.keys.guard(t.Name, db.schema.tables[t.Name].class())
	not := func(from, to string) { // I1
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(from), "<", int64(since)+1).WithRange(to))
	}
	not(at, own)
	not(own+"\x00", clientv3.GetPrefixRangeEnd(at))
	for _, name := range names {
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(name), "<", int64(since)+1))
	}
	return cmps, true
}

// checkIndexes returns an error if a commit of this process's class has changed index keys, and
// events, the puts of that commit, lack the guard of one: I4.
func (db *DB) checkIndexes(tables []replicate.Table, events []*clientv3.Event) error {
	if len(tables) == 0 {
		return nil
	}
	put := map[string]bool{}
	for _, e := range events {
		put[string(e.Kv.Key)] = true
	}
	for i := range tables {
		t := &tables[i]
		of := db.schema.tables[t.Name]
		if class := of.class(); class == classNone || !put[db.keys.guard(t.Name, class)] {
			continue
		}
		for _, ix := range t.Indexes {
			one := of.indexed()[ix.Name]
			for _, key := range ix.Writes {
				if one.shape != "" && !put[db.keys.index(t.Name, one.name, one.bucket(key))] {
					return &IndexError{Table: t.Name, Index: ix.Name, Key: key}
				}
			}
		}
	}
	return nil
}
