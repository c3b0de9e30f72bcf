package durable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/internal/seam/door"
)

// After returns m for a table whose records are to be migrated after those of the named tables: in
// each backup, in all differences, and in each group of a journal. So the function of m can use
// notes on the records of these tables, such as new ids. Give the present names of the tables that
// records come from; names that a file lacks do nothing. The call that loads returns an error, and
// loads nothing, if a name is neither of a table nor of a Migration, or if tables wait for each
// other. A table that was saved before those it waits for is in memory meanwhile, encoded. After
// panics if a name is empty, or the Migration is zero.
func (m Migration) After(tables ...string) Migration {
	if m.of == nil {
		panic("durable: Migration.After: the Migration is zero")
	}
	if slices.Contains(tables, "") {
		panic("durable: Migration.After: the name of a table is empty")
	}
	of := *m.of
	of.after = slices.Concat(of.after, tables)
	return Migration{&of}
}

// used returns all migrations of the way.
func (w *way) used() []*migration {
	used := w.steps
	for _, fork := range w.moves {
		used = slices.Concat(used, []*migration{fork.move}, fork.steps)
	}
	return used
}

// after returns the present names of the tables that come before.
func (w *way) after() []string {
	return afterAll(w.used())
}

func afterAll(list []*migration) (names []string) {
	for _, m := range list {
		names = append(names, m.after...)
	}
	return names
}

// arrange notes which tables wait for which ones, as Migrations say.
func (l *loading) arrange() error {
	if !slices.ContainsFunc(l.opts.Migrate, func(m Migration) bool { return len(m.of.after) > 0 }) {
		return nil
	}
	l.waitsFor, l.unread = map[string][]string{}, map[string]bool{}
	for _, table := range l.savedTables {
		if table.Closed {
			continue
		}
		l.unread[table.Name] = true
		after := l.after(table)
		for _, other := range l.savedTables {
			if !other.Closed && slices.Contains(after, l.opts.renamed(other.Name)) {
				l.waitsFor[table.Name] = append(l.waitsFor[table.Name], other.Name)
			}
		}
	}
	return l.checkCircle()
}

// after returns the present names of the tables whose records come before those of a table.
func (l *loading) after(of backupfile.TableHeader) []string {
	if s := l.sourceOf(of); s != nil {
		return s.after
	}
	if w := l.ways[of.Name]; w != nil {
		return w.after()
	}
	return nil
}

// checkCircle returns an error if tables wait for each other.
func (l *loading) checkCircle() error {
	waiting := maps.Clone(l.waitsFor)
	for n := -1; n != len(waiting); {
		n = len(waiting)
		maps.DeleteFunc(waiting, func(_ string, others []string) bool {
			return !slices.ContainsFunc(others, func(name string) bool { return waiting[name] != nil })
		})
	}
	if len(waiting) == 0 {
		return nil
	}
	return fmt.Errorf("by Migration.After tables %q wait for each other", slices.Sorted(maps.Keys(waiting)))
}

// A heldTable is a table whose records wait, encoded, for those of other tables.
type heldTable struct {
	of     *backupfile.TableHeader
	frames []heldFrame
}

type heldFrame struct {
	kind    byte
	payload []byte
	offset  int64
}

// mustWait reports whether the records of another table come first, and were not read yet.
func (l *loading) mustWait(table string) bool {
	return slices.ContainsFunc(l.waitsFor[table], func(name string) bool { return l.unread[name] })
}

// readInTurn reads the records of a table, or keeps them until it is their turn.
func (l *loading) readInTurn(of *backupfile.TableHeader) error {
	if l.mustWait(of.Name) {
		return l.hold(of)
	}
	if err := l.table(of); err != nil {
		return err
	}
	return l.readHeld(of.Name)
}

// readHeld reads the held tables that need not wait any more, now that a table was read or passed
// over.
func (l *loading) readHeld(read string) error {
	for delete(l.unread, read); ; delete(l.unread, read) {
		i := slices.IndexFunc(l.held, func(h heldTable) bool { return !l.mustWait(h.of.Name) })
		if i < 0 {
			return nil
		}
		of := l.held[i].of
		l.replay, read = l.held[i].frames, of.Name
		l.held = slices.Delete(l.held, i, i+1)
		if err := l.table(of); err != nil {
			return err
		}
	}
}

// hold keeps the records of a table as they are.
func (l *loading) hold(of *backupfile.TableHeader) error {
	h := heldTable{of: of}
	for {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		kind, payload, err := l.from.Frame()
		switch {
		case err != nil:
			return err
		case kind != frameData && kind != frameAnew && kind != frameTable:
			return l.from.Damage(wrongKind)
		}
		h.frames = append(h.frames, heldFrame{kind, slices.Clone(payload), l.from.Offset()})
		l.progress()
		if kind == frameTable {
			l.held = append(l.held, h)
			return nil
		}
	}
}

// frame returns the next frame of the table that is read.
func (l *loading) frame() (kind byte, payload []byte, err error) {
	if len(l.replay) == 0 {
		kind, payload, err = l.from.Frame()
		l.frameAt = l.from.Offset()
		return kind, payload, err
	}
	f := l.replay[0]
	l.replay[0], l.replay = heldFrame{}, l.replay[1:]
	l.frameAt = f.offset
	return f.kind, f.payload, nil
}

// damage returns an error for the frame that was given last.
func (l *loading) damage(reason string) error {
	return &disk.DamageError{Offset: l.frameAt, Reason: reason}
}

// A mistaken is a Migration that has applied to nothing that was saved. It may be for other files:
// so it is an error only if a table does not fit, or if of is nil.
type mistaken struct {
	of  *migration
	why string
}

// suspectAll notes that no Migration has applied yet.
func (l *loading) suspectAll(db door.DB) {
	for i, m := range l.opts.Migrate {
		m := m.of
		takes := fmt.Sprintf("a Map[%s, %s]", m.key, m.old)
		if m.renames() {
			takes = "other names of fields"
		}
		why := fmt.Sprintf("LoadOptions.Migrate[%d] applies to nothing that was saved: it takes %s of table %q",
			i, takes, m.from)
		if db.Table(m.to) == nil {
			why += fmt.Sprintf(", and there is no table %q", m.to)
		}
		l.mistakes = append(l.mistakes, mistaken{m, why})
		for _, name := range m.after {
			if !l.hasName(db, name) {
				l.mistakes = append(l.mistakes, mistaken{why: fmt.Sprintf("LoadOptions.Migrate[%d], of table "+
					"%q, is After %q, which is the name of no table and no Migration", i, m.from, name)})
			}
		}
	}
}

// hasName reports whether there is a table of that name: in the database, the backup, or a
// Migration.
func (l *loading) hasName(db door.DB, name string) bool {
	return db.Table(name) != nil ||
		slices.ContainsFunc(l.opts.Migrate, func(m Migration) bool { return m.of.from == name }) ||
		slices.ContainsFunc(l.savedTables, func(t backupfile.TableHeader) bool {
			return l.opts.renamed(t.Name) == name
		})
}

// applies notes that Migrations have applied.
func (l *loading) applies(used ...*migration) {
	l.forgive(func(m *migration) bool { return slices.Contains(used, m) })
}

// forgive takes out the Migrations for which is returns true.
func (l *loading) forgive(is func(m *migration) bool) {
	if len(l.mistakes) > 0 { // those of the backup before are not changed
		l.mistakes = slices.DeleteFunc(slices.Clone(l.mistakes), func(x mistaken) bool {
			return x.of != nil && is(x.of)
		})
	}
}

// A severalErrors has all errors of a call.
type severalErrors []error

func (e severalErrors) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d things are wrong:", len(e))
	for _, err := range e {
		fmt.Fprintf(&b, "\n\t%v", err)
	}
	return b.String()
}

func (e severalErrors) Unwrap() []error { return e }
