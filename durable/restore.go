package durable

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
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
	return fmt.Sprintf("%s is damaged at offset %d: %s", which, e.Offset, e.Reason)
}

// LoadOptions configures [Load].
type LoadOptions struct {
	// Then are backups of differences, see [SaveOptions.Since], each to the one before, the first
	// one to the loaded backup.
	Then []io.Reader
	// Version is the [SaveOptions.Version] of the backup, and Versions are others that will do. Any
	// other one is a [*VersionError].
	Version  int
	Versions []int
	// Rename has the present names of tables, by those in the backup; one that is not there does
	// nothing. All other names, such as those of Migrate, are present ones. Two tables of a backup
	// with one name are refused.
	Rename map[string]string
	// Migrate is for tables whose types have changed, or that were split or merged, see
	// [Migration]. One record at a time is in memory in its old form; those by MigrateTo wait until
	// all of a backup of differences was read.
	Migrate []Migration
	// AnyShape: fields that were removed or renamed, or have another type, are lost without an
	// error. Without it they are a [*SchemaError], unless Migrate is for them. Fields may be added,
	// and types renamed.
	AnyShape bool
	// Progress is called from time to time, with the records and bytes so far.
	Progress func(records int, bytes int64)

	// more says that loadCommits follows: a table that does not fit is passed over, as it may be
	// closed later, and missing tells of it in the end.
	more bool
	// resume are positions, one for each follower, from which [mvcc.DB.Follow] is to go on. A load
	// keeps the state of each that it meets, in a transaction of its own, which others see: of the
	// backup, of all differences, and of each commit of differences by saveCommits, but not where a
	// table was closed, or is migrated by [MigrateTo]. If one fails those before it stay.
	resume []mvcc.Position
}

// Load makes the tables of the backup as they were, in one transaction, which deletes all else in
// them. Other tables stay as they are. Readers see all of it, or nothing. Indexes follow. Epochs go
// on above that of the backup.
//
// Load reads the backup to its end first, and no further. It loads nothing if the backup is
// damaged, a [*DamageError], or does not fit the tables, or if the transaction fails. Once it has
// read the backup nothing expires until it returns.
//
// All records are in memory twice, until Load returns. [Gob] and [JSON] allocate no more
// than the bytes of a backup can hold, also if it is forged.
func Load(
	ctx context.Context, db *mvcc.DB, r io.Reader, codec Codec, opts *LoadOptions,
) (Backup, error) {
	return namedLoad(load(ctx, db, r, codec, opts, nil, false))
}

// namedLoad puts the name of the call before an error.
func namedLoad(b Backup, err error) (Backup, error) {
	if err != nil {
		err = fmt.Errorf("durable: Load: %w", err)
	}
	return b, err
}

// load is Load, or loadCommits if after is not nil; its errors do not name the call. If whole is set
// nothing may follow the first backup.
func load(
	ctx context.Context, db *mvcc.DB, r io.Reader, codec Codec, opts *LoadOptions, after *Backup,
	whole bool,
) (Backup, error) {
	codec.check("Load")
	checkContext("Load", ctx)
	_ = db.Epoch() // panics for a nil or zero DB
	tablesOf := door.Of(db)
	var o LoadOptions
	if opts != nil {
		o = *opts
	}
	o.checkMigrations(codec.Name)
	last, tables, all := after, map[string]adder{}, map[string]seam.Loader{}
	var cuts []cut
	for i, r := range append([]io.Reader{r}, o.Then...) {
		if r == nil {
			panic("durable: Load: a reader is nil")
		}
		l := loading{number: i, ctx: ctx, codec: codec, opts: &o, tables: tables, all: all,
			from: disk.NewBackupReader(r)}
		err := l.run(tablesOf, last)
		if err == nil && whole && i == 0 {
			err = l.from.End()
		}
		last, cuts = &l.Backup, l.cuts
		var damage *disk.DamageError
		switch {
		case errors.As(err, &damage):
			return *last, &DamageError{i, damage.Offset, damage.Reason}
		case err != nil:
			return *last, err
		}
	}
	if err := last.missing(); err != nil && !o.more {
		return *last, err
	}
	defer tablesOf.HoldExpiry()() // not before: r may be slow
	now := db.Epoch()
	last.alone = after == nil || after.alone && after.now == now
	last.now = max(now, last.Epoch)
	tablesOf.SkipTo(last.Epoch, true)
	before := cut{upTo: map[string]int{}}
	// Differences without records, of the same life, lead to a state that was met before.
	another := after == nil || last.Since < last.Epoch || last.anotherLife(after)
	for _, cut := range append(cuts, cut{epoch: last.Epoch}) {
		at, wrote, err := tablesOf.Load(ctx, func(tx mvcc.DBTx) {
			for name, table := range all {
				table.Apply(tx, before.records(name), cut.records(name))
			}
		})
		if err != nil {
			return *last, err
		}
		last.loadedAt(at, wrote)
		before = cut
		for _, at := range o.resume {
			if another && at == (mvcc.Position{Life: last.DB, Epoch: cut.epoch}) {
				tablesOf.KeepState(at)
			}
		}
	}
	if last.moved != nil {
		last.moved.half = false
	}
	return *last, nil
}

// loadedAt notes the epoch of a transaction of the load: that of its commit, or, if it had nothing
// to write, its read epoch.
func (b *Backup) loadedAt(at uint64, wrote bool) {
	next := b.now
	if wrote {
		next++
	}
	b.alone = b.alone && at == next
	b.now = at
}

// matches reports whether a snapshot, which has the given tables, sees exactly the loaded backup, in
// tables of the same names and types, and no other ones, so that later commits can be saved as
// differences to it. It is false if there may have been writes since the load began. It costs a look
// at each table.
func (b *Backup) matches(s mvcc.DBSnapshot, tables []seam.Table) bool {
	if !b.alone || s.Epoch() != b.now || len(b.migrated)+len(b.misfits) > 0 ||
		len(tables) != len(b.ids) {
		return false
	}
	return !slices.ContainsFunc(tables, func(t seam.Table) bool {
		_, there := b.ids[t.Name()]
		return !there
	})
}

// An adder collects records of a table that was saved.
type adder interface {
	// Add decodes a record, and adds it. If once is set its key must be a new one.
	Add(dec decoder, once bool) error
}

// loading is a backup that is being read.
type loading struct {
	Backup
	number int
	ctx    context.Context
	codec  Codec
	opts   *LoadOptions
	from   *disk.Reader
	tables map[string]adder       // by the names that were saved
	all    map[string]seam.Loader // by the present names

	// These are of tables that are migrated, by their names.
	ways    map[string]*way
	whyNot  map[string]error
	sources map[string]*source // those of this backup,
	used    []*source          // with older ones that it goes on with,
	left    []*source          // and those which are closed by it
	targets map[string]*target // those of this backup

	// These are of the order of tables, by the names that were saved.
	waitsFor map[string][]string // for the tables of this backup that are read first
	unread   map[string]bool     // tables whose records were not read yet
	held     []heldTable
	replay   []heldFrame // of the one that is read, if it has waited
	frameAt  int64       // the offset of the frame that was given last

	data    []byte // of the frame that was read last, not decoded yet
	count   uint64 // of the table that has ended
	refused int    // of that table
	commits []byte // see commitCounts
	cuts    []cut
	over    bool  // the table has ended
	anew    bool  // the next record is of another encoder
	err     error // of from
}

// run reads the backup, which follows another one unless it is the first.
func (l *loading) run(db door.DB, before *Backup) error {
	h, err := backupfile.ReadHeader(l.from)
	if err != nil {
		return err
	}
	l.Backup = Backup{DB: h.DB, Epoch: h.Epoch, Since: h.Since, Version: h.Version, Codec: h.Codec,
		savedTables: h.Tables}
	if err := l.fits(before); err != nil {
		return err
	}
	ids := map[string]int{} // of the tables, as far as it was read
	l.identify(before)
	l.passOver(db, before)
	switch {
	case before == nil:
	case l.anotherLife(before):
		if err := l.rename(before, ids); err != nil {
			return err
		}
	default:
		maps.Copy(ids, before.ids)
	}
	if err := l.choose(db, before); err != nil {
		return err
	}
	if err := l.arrange(); err != nil {
		return err
	}
	l.cut()
	for i, table := range l.savedTables {
		if table.Closed {
			if !l.hasLoaded(table.Name, table.ID) {
				delete(l.misfits, table.Name)
			} else if ids[table.Name] == table.ID {
				l.renew(db, table, true)
			}
			continue
		}
		was, there := ids[table.Name]
		// The header has the shape where the table came first.
		known := there && was == table.ID && table.KeyShape.IsZero()
		to, misfit := l.loader(db, table, known)
		if m, passed := l.misfits[table.Name]; passed && known && m.id == table.ID {
			misfit = m.why
		}
		another := !there && (before == nil || before.ids != nil) || there && was != table.ID
		if another && (misfit == nil || there && l.hasLoaded(table.Name, was)) {
			l.renew(db, table, there)
		}
		l.tables[table.Name] = to
		ids[table.Name] = table.ID
		if l.misfit(table, misfit); misfit != nil {
			if err := l.pass(&l.savedTables[i]); err != nil {
				return err
			}
			if err := l.readHeld(table.Name); err != nil {
				return err
			}
			continue
		}
		if len(l.cuts) > 0 {
			l.into(db, l.opts.renamed(table.Name)).InOrder()
		}
		if err := l.readInTurn(&l.savedTables[i]); err != nil {
			return err
		}
	}
	kind, payload, err := l.from.Frame()
	if err != nil {
		return err
	}
	if n, _ := binary.Uvarint(payload); kind != frameEnd || n != uint64(l.Records) {
		return l.from.Damage("there is no end, or it does not count the records that there are")
	}
	l.Bytes = l.from.Read()
	return l.settle()
}

// fits returns an error if a backup with this header cannot be loaded.
func (l *loading) fits(before *Backup) error {
	switch {
	case l.Codec != l.codec.Name:
		return fmt.Errorf("the codec of the backup is %q, and that given is %q", l.Codec, l.codec.Name)
	case l.Version != l.opts.Version && !slices.Contains(l.opts.Versions, l.Version):
		return &VersionError{Saved: l.Version, Version: l.opts.Version, Versions: l.opts.Versions,
			Backup: l.number}
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
func (l *loading) table(of *backupfile.TableHeader) error {
	for l.over = false; !l.over; {
		l.anew = false
		if l.fill(); l.err != nil {
			return l.err
		}
		if len(l.data) > 0 {
			if err := l.records(of); err != nil {
				return err
			}
		}
	}
	of.Refused = l.refused
	if l.count != uint64(of.Records) {
		return l.miscounted(of)
	}
	l.cutTable(of)
	return nil
}

func (l *loading) miscounted(of *backupfile.TableHeader) error {
	return l.damage(fmt.Sprintf("table %q has %d records, and %d were written", of.Name,
		of.Records, l.count))
}

// records reads the records that one encoder has written.
func (l *loading) records(of *backupfile.TableHeader) error {
	dec, to := l.codec.NewDecoder(l), l.tables[of.Name]
	for {
		err := to.Add(dec, l.Since == 0)
		if l.err != nil { // even if the decoder has more than it needs for a record
			return l.err
		}
		if errors.As(err, new(*MigrationError)) { // even if that is of io.EOF
			return err
		}
		if errors.Is(err, io.EOF) && (l.over || l.anew) && len(l.data) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("table %q, record %d, at offset %d or before: %w", of.Name, of.Records+1,
				l.frameAt, err)
		}
		of.Records++
		l.Records++
		if l.over && uint64(of.Records) > l.count { // the decoder may go on for ever
			return l.miscounted(of)
		}
	}
}

// Read gives the data of a table to its decoder.
func (l *loading) Read(p []byte) (int, error) {
	l.fill()
	if l.err != nil {
		return 0, l.err
	}
	if len(l.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.data)
	l.data = l.data[n:]
	return n, nil
}

// fill reads frames until there are data, or the encoder has written no more.
func (l *loading) fill() {
	for len(l.data) == 0 && !l.over && !l.anew && l.err == nil {
		if l.err = l.ctx.Err(); l.err != nil {
			return
		}
		kind, payload, err := l.frame()
		if l.err = err; err != nil {
			return
		}
		switch kind {
		case frameData:
			l.data = payload
		case frameAnew:
			l.anew = true
		case frameTable:
			l.over = true
			n := 0
			l.count, n = binary.Uvarint(payload)
			refused, m := binary.Uvarint(payload[max(n, 0):])
			l.refused, l.commits = int(refused), payload[max(n, 0)+max(m, 0):]
		default:
			l.err = l.damage(wrongKind)
		}
		l.progress()
	}
}

func (l *loading) progress() {
	if l.opts.Progress != nil {
		l.opts.Progress(l.Records, l.from.Read())
	}
}

const wrongKind = "a frame is not of the kind that it should be"
