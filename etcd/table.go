package etcd

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// TableOptions configures a table. A nil *TableOptions, and every field that is zero, means the
// default.
type TableOptions[K comparable, V any] struct {
	// EncodeKey and DecodeKey make bytes of a key, and back; both are given or none. Different keys
	// must have different bytes, and equal keys equal bytes, in every process and version of the
	// program. A float key that is -0 is encoded as 0, which it is equal to; in a struct with
	// floats EncodeKey has to see to that. Default: for types that are strings, integers or arrays
	// of bytes; others have none.
	EncodeKey func(key K) ([]byte, error)
	DecodeKey func(b []byte) (K, error)
	// Encode and Decode make bytes of a value, and back; both are given or none. A field that
	// Encode leaves out is not there in the other processes, nor in this one once it has committed.
	// Decode is called for each value that Encode has made, before it is sent: one that it refuses
	// is not committed. Records that it refuses nonetheless are broken, see [Table.Broken].
	// Default: JSON. It refuses a value that does not come back as it is, by the rules of
	// [durable.JSON], with a [*CodecError].
	Encode func(value V) ([]byte, error)
	Decode func(b []byte) (V, error)
	// Codec names the functions that are given, and must be given with them. In Codecs are the
	// names of others whose records they decode as well: "json" is that of tables without. Open
	// refuses a table that may have records by one that is not among these.
	Codec  string
	Codecs []string
	// AnyShape has Open go on though values in the cluster have fields that V has not, or of other
	// types. A record that this program writes loses the former; one with the latter may be broken,
	// see [Table.Broken].
	AnyShape bool
	// Capacity presizes the local index, see [mvcc.TableOptions].
	Capacity int

	_ struct{}
}

// A Table is a table of a replicated database: an [mvcc.Map] without the methods that one process
// alone cannot have. Reads are those of the map, and cost the same. Writes are made in the function
// of [DB.Update], through [Table.In]. Use [NewTable] or [NewOrderedTable]. Methods of a Table may
// be called by any number of goroutines, also before Open, when it is empty.
type Table[K comparable, V any] struct {
	m      *mvcc.Map[K, V]
	schema *Schema
	key    keyCodec[K]
	value  valueCodec[V]
	opts   TableOptions[K, V]

	indexes map[string]index
	inClass string // see class
	// kept are functions that return the name of an index whose keys for a record change when its
	// value does; "" if they do not.
	kept []func(key K, before, after V) (index string)

	until    func(key K, value V) time.Time           // of Expire, or nil
	onExpire func(tx mvcc.DBTx, key K, value V) error // or nil
}

// NewTable declares a table. opts may be nil. It panics if the schema was opened, if the name is
// empty, has a slash, or is taken, or if there is no way to encode the keys.
func NewTable[K comparable, V any](s *Schema, name string, opts *TableOptions[K, V]) *Table[K, V] {
	return newTable(s, "NewTable", name, opts, mvcc.NewTable[K, V])
}

// NewOrderedTable is [NewTable] for keys with an order, see [mvcc.NewOrderedTable].
func NewOrderedTable[K cmp.Ordered, V any](
	s *Schema, name string, opts *TableOptions[K, V],
) *Table[K, V] {
	return newTable(s, "NewOrderedTable", name, opts, mvcc.NewOrderedTable[K, V])
}

func newTable[K comparable, V any](
	s *Schema, call, name string, opts *TableOptions[K, V],
	local func(*mvcc.DB, string, *mvcc.TableOptions) *mvcc.Map[K, V],
) *Table[K, V] {
	var o TableOptions[K, V]
	if opts != nil {
		o = *opts
	}
	t := &Table[K, V]{schema: s, opts: o, value: jsonCodec[V](), indexes: map[string]index{}, inClass: classNone}
	own := o.EncodeKey != nil || o.Encode != nil
	switch {
	case strings.Contains(name, "/"):
		panic(fmt.Sprintf("etcd: %s: the name %q has a slash", call, name))
	case (o.EncodeKey == nil) != (o.DecodeKey == nil):
		panic("etcd: " + call + ": one of TableOptions.EncodeKey and DecodeKey is nil, want both or none")
	case (o.Encode == nil) != (o.Decode == nil):
		panic("etcd: " + call + ": one of TableOptions.Encode and Decode is nil, want both or none")
	case !own && len(o.Codecs) > 0:
		panic("etcd: " + call + ": TableOptions.Codecs is given without functions that decode")
	case own != (o.Codec != ""):
		panic("etcd: " + call + ": TableOptions.Codec names the functions that are given, want both or none")
	}
	if o.EncodeKey != nil {
		t.key = keyCodec[K]{name: o.Codec, encode: o.EncodeKey, decode: o.DecodeKey}.checked()
	} else {
		var ok bool
		if t.key, ok = keyCodecFor[K](); !ok {
			var k K
			panic(fmt.Sprintf("etcd: %s: keys of type %T are no strings, integers or arrays of bytes: give "+
				"TableOptions.EncodeKey and DecodeKey", call, k))
		}
	}
	if o.Encode != nil {
		t.value = valueCodec[V]{o.Codec, o.Encode, o.Decode}
	}
	s.declare(call, func() {
		t.m = local(s.db, name, &mvcc.TableOptions{Capacity: o.Capacity})
		s.tables[name] = t
	})
	return t
}

// Name returns the name of the table.
func (t *Table[K, V]) Name() string { return t.m.Name() }

// In returns the transaction tx for the table, see [mvcc.Map.In].
func (t *Table[K, V]) In(tx mvcc.DBTx) mvcc.Tx[K, V] { return t.m.In(tx) }

// At returns the snapshot s for the table, see [mvcc.Map.At].
func (t *Table[K, V]) At(s mvcc.DBSnapshot) mvcc.Snapshot[K, V] { return t.m.At(s) }

// Load returns the newest value of key that this process knows, see [mvcc.Map.Load].
func (t *Table[K, V]) Load(key K) (value V, ok bool) { return t.m.Load(key) }

// Get is Load, and Has reports whether key has a value: a Table is an [mvcc.Reader].
func (t *Table[K, V]) Get(key K) (value V, ok bool) { return t.m.Get(key) }
func (t *Table[K, V]) Has(key K) bool               { return t.m.Has(key) }

// Epoch returns the newest revision that this process has applied.
func (t *Table[K, V]) Epoch() uint64 { return t.m.Epoch() }

// All returns an iterator over all records, as of one moment, see [mvcc.Map.All].
func (t *Table[K, V]) All() iter.Seq2[K, V] { return t.m.All() }

// Len returns the number of records that this process knows.
func (t *Table[K, V]) Len() int { return t.m.Len() }

// Watch watches the table, see [mvcc.Map.Watch] and [DB.Watch].
func (t *Table[K, V]) Watch(
	ctx context.Context, opts *mvcc.WatchOptions[K, V],
) iter.Seq2[mvcc.Commit[K, V], error] {
	return watchUntil(ctx, t.schema.applied, func(ctx context.Context) iter.Seq2[mvcc.Commit[K, V], error] {
		return t.m.Watch(ctx, opts)
	})
}

// Changes returns the changes of a commit in the table, see [mvcc.Map.Changes].
func (t *Table[K, V]) Changes(c mvcc.DBCommit) []mvcc.Change[K, V] { return t.m.Changes(c) }

// A table is a [Table] without its types.
type table interface {
	// indexed returns the indexes, by their names, and class the class of the process for the
	// table.
	indexed() map[string]index
	class() string
	// expires reports whether records do, and expire deletes those that are due, until ctx ends.
	expires() bool
	expire(ctx context.Context, db *DB)
	// codec names how records are encoded, and decodes how those are that can be decoded.
	codec() string
	decodes() []string
	// ownValues reports whether values are encoded by a function that was given.
	ownValues() bool
	anyShape() bool
	// reads calls visit with the encoded keys of a []mvcc.Change.
	reads(changes any, visit func(i int, key []byte)) error
	// span returns from where to where the encoded keys of a range are, the latter not included,
	// and whether that is known: an empty high means that there is no end.
	span(r replicate.Range) (low, high []byte, ok bool)
	// writes calls visit with the records of a []mvcc.Change; value is nil where one is deleted.
	writes(changes any, visit func(key, value []byte, deleted bool)) error
	// changed returns the first of some keys that were read, as reads has them, whose version has
	// another epoch now.
	changed(r replicate.DB, changes any, epochs []uint64) (key any)
	// apply writes a record that etcd has, or deletes it. Its error is nil unless the record is
	// broken. If probe is set, apply calls the functions of indexes before it writes the record.
	apply(tx mvcc.DBTx, key, value []byte, deleted, probe bool) *CodecError
	// drops returns an error if something of a value would be lost.
	drops(value []byte) error
	// versions returns the epochs of the versions of all records, by their encoded keys.
	versions(r replicate.DB) (map[string]uint64, error)
}

func (t *Table[K, V]) indexed() map[string]index { return t.indexes }

func (t *Table[K, V]) class() string { return t.inClass }

func (t *Table[K, V]) codec() string { return codecOf(t.key.name, t.value.name) }

func codecOf(keys, values string) string { return "keys: " + keys + ", values: " + values }

func (t *Table[K, V]) decodes() (all []string) {
	keys, values := []string{t.key.name}, []string{t.value.name}
	if t.opts.EncodeKey != nil {
		keys = append(keys, t.opts.Codecs...)
	}
	if t.ownValues() {
		values = append(values, t.opts.Codecs...)
	}
	for _, k := range keys {
		for _, v := range values {
			all = append(all, codecOf(k, v))
		}
	}
	return all
}

func (t *Table[K, V]) ownValues() bool { return t.opts.Encode != nil }

func (t *Table[K, V]) anyShape() bool { return t.opts.AnyShape }

func (t *Table[K, V]) failed(key any, err error) *CodecError {
	return &CodecError{Table: t.Name(), Name: fmt.Sprint(key), Err: err}
}

func (t *Table[K, V]) reads(changes any, visit func(i int, key []byte)) error {
	if changes == nil {
		return nil
	}
	for i, c := range changes.([]mvcc.Change[K, V]) {
		key, err := t.key.encode(c.Key)
		if err != nil {
			return t.failed(c.Key, err)
		}
		visit(i, key)
	}
	return nil
}

func (t *Table[K, V]) changed(r replicate.DB, changes any, epochs []uint64) (key any) {
	reads, _ := changes.([]mvcc.Change[K, V])
	for i, c := range reads {
		w, err := r.Attempt(func(tx mvcc.DBTx) error {
			t.m.In(tx).Has(c.Key)
			return nil
		})
		if err == nil && w.Tables[0].Epochs[0] != epochs[i] {
			return c.Key
		}
	}
	return nil
}

func (t *Table[K, V]) span(r replicate.Range) (low, high []byte, ok bool) {
	end := func(key any, next bool) []byte {
		if key == nil {
			return nil
		}
		b, err := t.key.encode(key.(K))
		ok = ok && err == nil
		if next {
			b = append(b, 0) // the key right after it
		}
		return b
	}
	ok = t.key.ordered
	low, high = end(r.Low, r.LowExclusive), end(r.High, !r.HighExclusive)
	return low, high, ok
}

func (t *Table[K, V]) writes(changes any, visit func(key, value []byte, deleted bool)) error {
	if changes == nil {
		return nil
	}
	for _, c := range changes.([]mvcc.Change[K, V]) {
		key, err := t.key.encode(c.Key)
		if err != nil {
			return t.failed(c.Key, err)
		}
		var value []byte
		if c.Has {
			if value, err = t.value.encode(c.New); err == nil {
				err = t.keeps(c.Key, c.New, value)
			}
			if err != nil {
				return t.failed(c.Key, err)
			}
		}
		visit(key, value, !c.Has)
	}
	return nil
}

// keeps returns an error if a value cannot be decoded as it is encoded, or has other index keys
// then: I4.
func (t *Table[K, V]) keeps(key K, value V, encoded []byte) error {
	if len(t.kept) == 0 && !t.ownValues() {
		return nil // durable.JSON has decoded it
	}
	after, err := t.value.decode(encoded)
	if err != nil {
		return fmt.Errorf("what it is encoded as cannot be decoded: %w", err)
	}
	for _, differs := range t.kept {
		if name := differs(key, value, after); name != "" {
			return fmt.Errorf("index %q has other index keys for the value once it was encoded and decoded", name)
		}
	}
	return nil
}

func (t *Table[K, V]) apply(tx mvcc.DBTx, name, value []byte, deleted, probe bool) *CodecError {
	var key K
	var v V
	if err := guarded(func() (err error) {
		key, err = t.key.decode(name)
		return err
	}); err != nil {
		return t.failed(string(name), err)
	}
	if deleted {
		t.m.In(tx).Delete(key)
		return nil
	}
	if err := guarded(func() (err error) {
		v, err = t.value.decode(value)
		for i := 0; err == nil && probe && i < len(t.kept); i++ {
			t.kept[i](key, v, v)
		}
		return err
	}); err != nil {
		t.m.In(tx).Delete(key)
		return t.failed(string(name), err)
	}
	t.m.In(tx).Set(key, v)
	return nil
}

func (t *Table[K, V]) versions(r replicate.DB) (map[string]uint64, error) {
	list := slices.Collect(t.m.Keys())
	w, err := r.Attempt(func(tx mvcc.DBTx) error {
		in := t.m.In(tx)
		for _, key := range list {
			in.Has(key)
		}
		return nil
	})
	all := map[string]uint64{}
	if err != nil || len(w.Tables) == 0 {
		return all, err
	}
	of := w.Tables[0]
	err = t.reads(of.Reads, func(i int, key []byte) { all[string(key)] = of.Epochs[i] })
	return all, err
}
