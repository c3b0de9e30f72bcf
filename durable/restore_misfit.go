package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/door"
)

// A misfit is a table of a backup which the database does not have, or not with such types. That is
// an error only if the table is there in the end: a table that later differences close is not
// needed.
type misfit struct {
	id  int
	why error
}

// missing returns one error for all tables that were loaded and passed over, with the Migrations of
// other tables that have applied to nothing; nil if there are none.
func (b *Backup) missing() error {
	var list []error
	for _, name := range slices.Sorted(maps.Keys(b.misfits)) {
		list = append(list, b.misfits[name].why)
	}
	for _, m := range b.mistakes {
		if m.of == nil || len(b.misfits) > 0 {
			list = append(list, errors.New(m.why))
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return severalErrors(list)
}

// passOver notes the tables passed over before, and which Migrations have not applied.
func (l *loading) passOver(db door.DB, before *Backup) {
	if before == nil {
		l.suspectAll(db)
		return
	}
	l.mistakes = before.mistakes
	if len(before.misfits) > 0 {
		l.misfits = maps.Clone(before.misfits)
	}
}

// rename notes the IDs that tables have in the other life of differences which name all tables.
func (l *loading) rename(before *Backup, ids map[string]int) error {
	for _, table := range l.savedTables {
		ids[table.Name] = table.ID
		if m, passed := l.misfits[table.Name]; passed {
			l.misfits[table.Name] = misfit{table.ID, m.why}
		}
		if before.moved != nil && before.moved.sources[table.Name] != nil {
			before.moved.sources[table.Name].id = table.ID
		}
	}
	for name := range before.ids {
		if _, there := ids[name]; !there {
			return fmt.Errorf("the backup is of another life of the database, %s, and does not say what has "+
				"become of table %q", l.DB, name)
		}
	}
	return nil
}

// hasLoaded reports whether the table of that name and ID was loaded, if it was there.
func (l *loading) hasLoaded(name string, id int) bool {
	m, passed := l.misfits[name]
	return !passed || m.id != id
}

// renew says that the records loaded of a table, if there was one, go, whatever its types are now.
func (l *loading) renew(db door.DB, of backupfile.TableHeader, there bool) {
	if l.leave(db, of.Name) {
		return
	}
	if w := l.ways[of.Name]; !there && w != nil && len(w.moves) > 0 {
		return // the table of that name may be one that others are moved to
	}
	if to := l.into(db, l.opts.renamed(of.Name)); to != nil { // else it was closed here too
		to.Renew()
	}
}

// misfit notes why a table does not fit; if why is nil, that it fits.
func (l *loading) misfit(of backupfile.TableHeader, why error) {
	if why == nil {
		delete(l.misfits, of.Name)
		is := l.opts.renamed(of.Name)
		l.forgive(func(m *migration) bool { return m.from == is })
		return
	}
	if l.misfits == nil {
		l.misfits = map[string]misfit{}
	}
	l.misfits[of.Name] = misfit{of.ID, why}
}

// pass reads the records of a table, and forgets them.
func (l *loading) pass(of *backupfile.TableHeader) error {
	for {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		kind, payload, err := l.from.Frame()
		switch {
		case err != nil:
			return err
		case kind == frameTable:
			n, size := binary.Uvarint(payload)
			refused, _ := binary.Uvarint(payload[max(size, 0):])
			of.Records, of.Refused = int(n), int(refused)
			l.Records += of.Records
			return nil
		case kind == frameHeader || kind == frameEnd:
			return l.from.Damage(wrongKind)
		}
	}
}

// loader returns the adder for a table that was saved, or says why it cannot be loaded. known says
// that its shapes were compared when the table came first.
func (l *loading) loader(db door.DB, of backupfile.TableHeader, known bool) (adder, error) {
	s, err := l.source(db, of)
	if err != nil {
		return nil, err
	}
	as := of.Name
	of.Name = l.opts.renamed(of.Name)
	if s != nil {
		l.migrates(as)
		return s, nil
	}
	table := db.Table(of.Name)
	if table == nil {
		return nil, noTable(of.Name, of.Key, of.Value)
	}
	if !known && !(sameShapes(of, table, l.codec.Name) && of.Name == as) {
		l.migrates(as)
	}
	if !known {
		if err := l.compare(of, table); err != nil {
			return nil, err
		}
	}
	return l.into(db, of.Name), nil
}

// compare returns a [*SchemaError] if the present table would lose something of the saved one.
func (l *loading) compare(of backupfile.TableHeader, table seam.Table) error {
	if l.opts.AnyShape {
		return nil
	}
	is := backupfile.Describe(table, l.codec.Name)
	lost, fits := of.Lost(is)
	if fits {
		return nil
	}
	return &SchemaError{Table: is.Name, Saved: [2]string{of.Key, of.Value},
		Is: [2]string{is.Key, is.Value}, Lost: lost}
}

// into returns the loader of a table, nil if there is none of that name.
func (l *loading) into(db door.DB, name string) seam.Loader {
	if to := l.all[name]; to != nil {
		return to
	}
	table := db.Table(name)
	if table == nil {
		return nil
	}
	to := table.Loader()
	l.all[name] = to
	return to
}
