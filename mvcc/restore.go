package mvcc

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/frames"
)

// A DamageError says that a backup is damaged: nothing of it was loaded.
type DamageError struct {
	Backup int   // which one: 0, or that of LoadOptions.Then from 1
	Offset int64 // where the part begins that is damaged, or missing
	Reason string
}

func (e *DamageError) Error() string {
	which := "the backup"
	if e.Backup > 0 {
		which = fmt.Sprintf("the backup Then[%d]", e.Backup-1)
	}
	return fmt.Sprintf("mvcc: Load: %s is damaged at offset %d: %s", which, e.Offset, e.Reason)
}

// LoadOptions configures [DB.Load]. A nil *LoadOptions, and every field that is zero, means the
// default.
type LoadOptions struct {
	// Then are backups of differences, see [SaveOptions.Since], each to the one before, the
	// first one to the backup that is loaded.
	Then []io.Reader
	// Version is what [SaveOptions.Version] must have been.
	Version int
	// AnyTypes says that the names of the types need not be the same: they were renamed, or the
	// codec can do with others.
	AnyTypes bool
	// Progress is called now and then, with how many records and bytes were read so far.
	Progress func(records int, bytes int64)

	_ struct{}
}

// Load makes the tables what they were when the backup was written: all of those in it, in one
// transaction, which deletes what else is in them. Tables that are not in the backup stay as they
// are. It reads the backup to its end first, and no further: if that is damaged, a [*DamageError],
// or is not of such tables, or the transaction fails, nothing is loaded. Otherwise readers see all
// of it, or nothing. Indexes of the tables follow. opts may be nil.
//
// All records are in memory twice, until Load returns. A backup is as trusted as its codec: gob may
// take much memory for a forged one.
func (db *DB) Load(
	ctx context.Context, r io.Reader, codec Codec, opts *LoadOptions,
) (Backup, error) {
	return db.load(ctx, r, codec, opts, nil, false)
}

// load is Load, or LoadCommits if after is not nil. If whole is set nothing may follow the first
// backup.
func (db *DB) load(
	ctx context.Context, r io.Reader, codec Codec, opts *LoadOptions, after *Backup, whole bool,
) (Backup, error) {
	codec.check("Load")
	checkContext("Load", ctx)
	db.base()
	var o LoadOptions
	if opts != nil {
		o = *opts
	}
	last, tables := after, map[string]loader{}
	for i, r := range append([]io.Reader{r}, o.Then...) {
		if r == nil {
			panic("mvcc: Load: a reader is nil")
		}
		l := loading{number: i, ctx: ctx, codec: codec, opts: &o, from: frames.NewReader(r, backupMagic),
			tables: tables}
		err := l.run(db, last)
		if err == nil && whole && i == 0 {
			err = l.from.End()
		}
		last = &l.Backup
		var damage *frames.DamageError
		switch {
		case errors.As(err, &damage):
			return *last, &DamageError{i, damage.Offset, damage.Reason}
		case err != nil:
			return *last, fmt.Errorf("mvcc: Load: %w", err)
		}
	}
	return *last, db.Update(ctx, &TxOptions{own: true}, func(tx DBTx) error {
		for _, table := range tables {
			table.apply(tx)
		}
		return nil
	})
}

// A loader collects the records of a table.
type loader interface {
	// add decodes a record, and adds it.
	add(dec decoder) error
	// renew says that what follows is of a table that took the place of what was there before.
	renew()
	apply(tx DBTx)
}

// loading is a backup that is being read.
type loading struct {
	Backup
	number int
	ctx    context.Context
	codec  Codec
	opts   *LoadOptions
	from   *frames.Reader
	tables map[string]loader

	data  []byte // of the frame that was read last, not decoded yet
	count uint64 // of the table that has ended
	over  bool   // it has
	err   error  // of from
}

// run reads the backup, which follows another one unless it is the first.
func (l *loading) run(db *DB, before *Backup) error {
	kind, payload, err := l.from.Frame()
	switch {
	case err != nil:
		return err
	case kind != frameHeader:
		return l.from.Damage("there is no header")
	}
	if err := json.Unmarshal(payload, &l.Backup); err != nil {
		return l.from.Damage("the header cannot be read: " + err.Error())
	}
	if err := l.fits(before); err != nil {
		return err
	}
	ids := map[string]int{} // of the tables, as far as it was read
	if before != nil {
		maps.Copy(ids, before.ids)
	}
	l.identify(before)
	for i, table := range l.Tables {
		to := l.tables[table.Name]
		if table.Closed {
			if to == nil {
				to, _ = db.loader(table, l.opts.AnyTypes)
			}
			if to != nil && ids[table.Name] == table.ID {
				l.tables[table.Name] = to
				to.renew()
			}
			continue
		}
		if to == nil {
			to, err = db.loader(table, l.opts.AnyTypes)
			if err != nil {
				return err
			}
			l.tables[table.Name] = to
		}
		if was, there := ids[table.Name]; before == nil || there && was != table.ID {
			to.renew()
		}
		ids[table.Name] = table.ID
		if err := l.table(&l.Tables[i]); err != nil {
			return err
		}
	}
	kind, payload, err = l.from.Frame()
	if err != nil {
		return err
	}
	if n, _ := binary.Uvarint(payload); kind != frameEnd || n != uint64(l.Records) {
		return l.from.Damage("there is no end, or it does not count the records that there are")
	}
	l.Bytes = l.from.Read()
	return nil
}

// fits says why what the header says cannot be loaded.
func (l *loading) fits(before *Backup) error {
	switch {
	case l.Codec != l.codec.Name:
		return fmt.Errorf("the codec of the backup is %q, and that given is %q", l.Codec, l.codec.Name)
	case l.Version != l.opts.Version:
		return fmt.Errorf("the version of the backup is %d, and LoadOptions.Version is %d",
			l.Version, l.opts.Version)
	case before == nil && l.Since != 0:
		return fmt.Errorf("the backup has only the differences to another one, of epoch %d", l.Since)
	case before != nil && (l.Since != before.Epoch || l.DB != before.DB || l.Since == 0):
		which := "the backup"
		if l.number > 0 {
			which = fmt.Sprintf("backup Then[%d]", l.number-1)
		}
		return fmt.Errorf("%s does not follow the one before: it begins at epoch %d of database %s, "+
			"and that ends at epoch %d of database %s", which, l.Since, l.DB, before.Epoch, before.DB)
	}
	return nil
}

// table reads the records of a table.
func (l *loading) table(of *BackupTable) error {
	dec, to := l.codec.NewDecoder(l), l.tables[of.Name]
	l.over = false
	for {
		err := to.add(dec)
		if l.err != nil { // even if the decoder has more than it needs for a record
			return l.err
		}
		if errors.Is(err, io.EOF) && l.over && len(l.data) == 0 {
			break
		}
		if err != nil {
			return fmt.Errorf("table %q, record %d, at offset %d or before: %w", of.Name, of.Records+1,
				l.from.Offset(), err)
		}
		of.Records++
		l.Records++
	}
	if l.count != uint64(of.Records) {
		return l.from.Damage(fmt.Sprintf("table %q has %d records, and %d were written", of.Name,
			of.Records, l.count))
	}
	return nil
}

// Read is for the decoder of a table.
func (l *loading) Read(p []byte) (int, error) {
	for len(l.data) == 0 {
		if l.over {
			return 0, io.EOF
		}
		if l.err == nil {
			l.err = l.ctx.Err()
		}
		if l.err != nil {
			return 0, l.err
		}
		kind, payload, err := l.from.Frame()
		if l.err = err; err != nil {
			return 0, err
		}
		switch kind {
		case frameData:
			l.data = payload
		case frameTable:
			l.over = true
			l.count, _ = binary.Uvarint(payload)
		default:
			l.err = l.from.Damage("a frame is not of the kind that it should be")
		}
		if l.opts.Progress != nil {
			l.opts.Progress(l.Records, l.from.Read())
		}
	}
	n := copy(p, l.data)
	l.data = l.data[n:]
	return n, nil
}

// loader returns what loads a table, or says why it cannot be loaded.
func (db *DB) loader(of BackupTable, anyTypes bool) (loader, error) {
	db.mu.Lock()
	table := db.tables[of.Name]
	db.mu.Unlock()
	if table == nil || table.isInner() {
		return nil, fmt.Errorf("there is no table %q: make it with mvcc.NewTable[%s, %s]", of.Name,
			of.Key, of.Value)
	}
	if is := table.described(); !anyTypes && (is.Key != of.Key || is.Value != of.Value) {
		return nil, fmt.Errorf("table %q is a Map[%s, %s], and in the backup it is a Map[%s, %s]; see "+
			"LoadOptions.AnyTypes",
			of.Name, is.Key, is.Value, of.Key, of.Value)
	}
	return table.loader(), nil
}

// A tableLoader is the loader of a map.
type tableLoader[K comparable, V any] struct {
	m     *Map[K, V]
	list  []saved[K, V]
	clear bool // what is there goes
}

func (m *Map[K, V]) loader() loader { return &tableLoader[K, V]{m: m} }

func (l *tableLoader[K, V]) add(dec decoder) error {
	var r saved[K, V]
	if valueless[V]() {
		var k savedKey[K]
		err := dec.Decode(&k)
		if err != nil {
			return err
		}
		r.K, r.D = k.K, k.D
	} else if err := dec.Decode(&r); err != nil {
		return err
	}
	if l.m.badKey(useTx, r.K) {
		return fmt.Errorf("the key %v (%s) is not equal to itself", r.K, reflect.TypeFor[K]())
	}
	l.list = append(l.list, r)
	return nil
}

func (l *tableLoader[K, V]) renew() { l.list, l.clear = nil, true }

func (l *tableLoader[K, V]) apply(tx DBTx) {
	in := l.m.inside(tx)
	if l.clear {
		in.clear()
	}
	for i := range l.list {
		if r := &l.list[i]; r.D {
			in.Delete(r.K)
		} else {
			in.Set(r.K, r.V)
		}
	}
}
