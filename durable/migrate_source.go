package durable

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/door"
)

// A source is a table that was saved, and is migrated.
type source struct {
	id     int // of the table
	into   string
	base   *relay
	top    decoder  // of records after the steps
	after  []string // the tables that come before
	routes []*route
	load   seam.Loader // of the table, if there are no routes
}

// A relay is a decoder whose source of records can be exchanged.
type relay struct{ decoder }

// A migrating has the notes on the tables that are migrated, for the differences that follow.
type migrating struct {
	sources map[string]*source // by the names that were saved
	targets map[string]*target
	epoch   uint64 // of the backup that it was loaded from last
	// half says that the notes are of more records than were loaded: something has failed.
	half bool
}

// Add decodes a record, and adds the records that the migrations make of it.
func (s *source) Add(dec decoder, once bool) error {
	s.base.decoder = dec
	if len(s.routes) == 0 {
		return s.load.Add(s.top, once)
	}
	record, err := s.routes[0].read(s.top)
	if err != nil {
		return err
	}
	for _, r := range s.routes {
		if err := r.take(r, record, once); err != nil {
			return err
		}
	}
	return nil
}

// chained returns the decoder of the records that steps make.
func chained(from decoder, steps []*migration) decoder {
	for _, m := range steps {
		from = m.step(from)
	}
	return from
}

// goOn takes over the notes on the tables of the backup before.
func (l *loading) goOn(before *Backup) error {
	if before == nil {
		return nil
	}
	l.migrated, l.moved = slices.Clone(before.migrated), before.moved
	if m := l.moved; m != nil && (m.half && l.number == 0 || m.epoch != before.idsAt) {
		return errors.New("tables are migrated, and what is known of them is not that of the backup " +
			"before: it was gone on from already, or that has failed; Load them again")
	}
	return nil
}

// choose chooses the ways of the tables in the backup. A table that is merged into has one too.
func (l *loading) choose(db door.DB, before *Backup) error {
	if err := l.goOn(before); err != nil {
		return err
	}
	if err := l.checkNames(); err != nil || len(l.opts.Migrate) == 0 && l.moved == nil {
		return err
	}
	l.ways, l.whyNot = map[string]*way{}, map[string]error{}
	l.sources, l.targets = map[string]*source{}, map[string]*target{}
	merged := map[string]fork{} // by where they lead to
	for _, table := range l.savedTables {
		if table.Closed || l.sourceOf(table) != nil {
			continue
		}
		w, err := l.way(db, table)
		if err != nil {
			l.whyNot[table.Name] = err // that of a RenameFields names it
			is := l.opts.renamed(table.Name)
			l.forgive(func(m *migration) bool { return m.renames() && m.from == is })
			continue
		}
		if w == nil {
			continue
		}
		for _, b := range w.moves {
			if err := l.unnoted(before, b.move.to, table.Name); err != nil {
				l.whyNot[table.Name] = err
			}
		}
		if l.whyNot[table.Name] == nil {
			l.ways[table.Name] = w
			l.applies(w.used()...)
			for _, b := range w.moves {
				merged[b.move.to] = b
			}
		}
	}
	l.stay(db, merged)
	return nil
}

// stay gives a move to the way of each table that is itself a target, and whose records stay there.
func (l *loading) stay(db door.DB, merged map[string]fork) {
	for _, table := range l.savedTables {
		if table.Closed || l.sourceOf(table) != nil || l.whyNot[table.Name] != nil {
			continue
		}
		into, w := l.opts.renamed(table.Name), l.ways[table.Name]
		if w != nil && len(w.moves) > 0 {
			continue
		}
		move := (*migration)(nil)
		if b, is := merged[into]; is {
			if move = b.move.stay(); len(b.steps) > 0 {
				move = b.steps[len(b.steps)-1].stay()
			}
		} else if l.moved != nil && l.moved.targets[into] != nil {
			move = l.moved.targets[into].stay()
		}
		if move == nil {
			continue
		}
		if w == nil {
			if err := l.compare(table, db.Table(into)); err != nil {
				l.whyNot[table.Name] = err
				continue
			}
			w = &way{}
			l.ways[table.Name] = w
		}
		w.moves = []fork{{move: move}}
	}
}

// unnoted returns an error if a target has records of another table, and no notes on them exist.
func (l *loading) unnoted(before *Backup, target, from string) error {
	if before == nil || l.moved != nil && l.moved.targets[target] != nil {
		return nil
	}
	for name := range before.ids {
		if name != from && l.opts.renamed(name) == target {
			return fmt.Errorf("table %q was made after the backup, and cannot be merged into table %q, "+
				"which was loaded by then: save it once more with the program before", from, target)
		}
	}
	return nil
}

// sourceOf returns the source of a table that an earlier backup has migrated, or nil.
func (l *loading) sourceOf(of backupfile.TableHeader) *source {
	if l.moved != nil {
		if s := l.moved.sources[of.Name]; s != nil && s.id == of.ID {
			return s
		}
	}
	return nil
}

// moves reports whether records of a table get to other keys, or to another table.
func (l *loading) moves(of backupfile.TableHeader) bool {
	if s := l.sourceOf(of); s != nil {
		return len(s.routes) > 0
	}
	w := l.ways[of.Name]
	return w != nil && len(w.moves) > 0
}

// source returns the source for a table that is migrated, and nil for one that is not.
func (l *loading) source(db door.DB, of backupfile.TableHeader) (*source, error) {
	if err := l.whyNot[of.Name]; err != nil {
		return nil, err
	}
	s, w := l.sourceOf(of), l.ways[of.Name]
	if s == nil && w == nil {
		return nil, nil
	}
	if l.moved == nil {
		l.moved = &migrating{sources: map[string]*source{}, targets: map[string]*target{}}
	}
	if s == nil {
		s = &source{id: of.ID, into: l.opts.renamed(of.Name), base: &relay{}}
		s.top, s.after = chained(s.base, w.steps), w.after()
		for _, b := range w.moves {
			r := &route{carrier: b.move.move(), move: b.move}
			r.top = chained(r.carrier, b.steps)
			r.to = l.target(b, r)
			s.routes = append(s.routes, r)
		}
	}
	if err := l.use(db, s); err != nil {
		return nil, err
	}
	l.sources[of.Name] = s
	return s, nil
}

// target returns the target of a fork.
func (l *loading) target(b fork, r *route) *target {
	if t := l.moved.targets[b.move.to]; t != nil {
		return t
	}
	if t := l.targets[b.move.to]; t != nil {
		return t
	}
	last := b.move
	if len(b.steps) > 0 {
		last = b.steps[len(b.steps)-1]
	}
	t := &target{owners: r.owners(), stay: last.stay, anew: true}
	l.targets[b.move.to] = t
	return t
}

// use makes a source ready for the records of its table in this backup.
func (l *loading) use(db door.DB, s *source) error {
	if slices.Contains(l.used, s) {
		return nil
	}
	if len(s.routes) == 0 {
		s.load = l.into(db, s.into)
		if s.load == nil {
			return noTable(s.into, "K", "V")
		}
	}
	for _, r := range s.routes {
		if r.load = l.into(db, r.move.to); r.load == nil {
			return noTable(r.move.to, r.move.toKey.String(), r.move.made.String())
		}
		if r.begin(); r.to.anew {
			r.to.anew = false
			r.load.Renew()
		}
	}
	l.used = append(l.used, s)
	return nil
}

// leave notes that the records loaded from a migrated table are to be removed. It reports whether
// these records are at other keys or in another table, so that the table stays.
func (l *loading) leave(db door.DB, name string) (moves bool) {
	if l.moved == nil {
		return false
	}
	s := l.moved.sources[name]
	if s == nil || len(s.routes) == 0 {
		return false
	}
	if l.use(db, s) == nil { // else its tables were closed here too
		for _, r := range s.routes {
			r.leave()
		}
		l.left = append(l.left, s)
	}
	return true
}

// settle is called when a backup was read: the records kept of differences go to the tables.
func (l *loading) settle() error {
	if l.moved == nil {
		return nil
	}
	l.moved.half = true
	for _, s := range l.used {
		for _, r := range s.routes {
			if err := r.release(r); err != nil {
				return err
			}
		}
	}
	for _, s := range l.used {
		for _, r := range s.routes {
			if err := r.claim(r); err != nil {
				return err
			}
		}
	}
	maps.DeleteFunc(l.moved.sources, func(_ string, s *source) bool { return slices.Contains(l.left, s) })
	maps.Copy(l.moved.sources, l.sources)
	maps.Copy(l.moved.targets, l.targets)
	l.moved.epoch = l.Epoch
	return nil
}

// migrates notes that a table is loaded as another one.
func (l *loading) migrates(name string) {
	if !slices.Contains(l.migrated, name) {
		l.migrated = append(l.migrated, name)
	}
}
