package durable

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/door"
)

// A way is the path of the saved records of a table to present tables. A table that is loaded as it
// is has none.
type way struct {
	steps []*migration // one after the other
	moves []fork       // then each of these, if there are any
}

// A fork is a move, and the steps behind it.
type fork struct {
	move  *migration
	steps []*migration
}

// checkMigrations panics if a Migration is zero, or if it can never be told whether it applies.
func (o *LoadOptions) checkMigrations(codec string) {
	for i, m := range o.Migrate {
		if m.of == nil {
			panic(fmt.Sprintf("durable: Load: LoadOptions.Migrate[%d] is zero, want what Migrate, MigrateTo or "+
				"RenameFields returns", i))
		}
		m := m.of
		if !m.renames() && m.from == m.to &&
			backupfile.ShapeOf(m.key, codec).Same(backupfile.ShapeOf(m.toKey, codec)) &&
			backupfile.ShapeOf(m.old, codec).Same(backupfile.ShapeOf(m.made, codec)) {
			panic(fmt.Sprintf("durable: Load: LoadOptions.Migrate[%d], of table %q, has old and new types of "+
				"one shape: which of them was saved cannot be told", i, m.from))
		}
	}
}

// renamed returns the name that a saved table has now.
func (o *LoadOptions) renamed(saved string) string {
	if name, there := o.Rename[saved]; there {
		return name
	}
	return saved
}

// checkNames returns an error if two tables that were saved are called the same now.
func (l *loading) checkNames() error {
	if len(l.opts.Rename) == 0 {
		return nil
	}
	saved := map[string]string{} // by their names now
	for _, name := range slices.Sorted(maps.Keys(l.ids)) {
		is := l.opts.renamed(name)
		if other, taken := saved[is]; taken {
			return fmt.Errorf("LoadOptions.Rename: tables %q and %q were saved, and both would be %q",
				other, name, is)
		}
		saved[is] = name
	}
	return nil
}

// from returns the migrations of a table for which is returns true, without those of RenameFields.
func (o *LoadOptions) from(table string, is func(m *migration) bool) (list []*migration) {
	for _, m := range o.Migrate {
		if m := m.of; m.from == table && !m.renames() && is(m) {
			list = append(list, m)
		}
	}
	return list
}

// way chooses the migrations of a table that was saved; nil if it is loaded as it is.
func (l *loading) way(db door.DB, of backupfile.TableHeader) (*way, error) {
	if of.KeyShape.IsZero() || of.ValueShape.IsZero() {
		return nil, nil
	}
	name := l.opts.renamed(of.Name)
	renamings, err := l.renamings(db, name)
	if err != nil {
		return nil, err
	}
	t := db.Table(name)
	if t != nil && sameShapes(of, t, l.codec.Name) {
		return nil, nil
	}
	list := l.opts.from(name, func(m *migration) bool {
		return of.KeyShape.Same(backupfile.ShapeOf(m.key, l.codec.Name)) &&
			of.ValueShape.Same(backupfile.ShapeOf(m.old, l.codec.Name))
	})
	w := &way{}
	if len(list) == 0 {
		least := math.MaxInt
		if t != nil {
			lost, _ := of.Lost(backupfile.Describe(t, l.codec.Name))
			least = len(lost)
		}
		r, err := l.renaming(of, renamings, least)
		if r == nil {
			return nil, err
		}
		l.applies(r.by...)
		w.steps = []*migration{{from: name, to: name, key: r.key, toKey: r.key, made: r.value, step: r.step,
			after: afterAll(r.by)}}
		if r.now {
			return w, nil
		}
		list = l.opts.from(name, func(m *migration) bool { return m.key == r.key && m.old == r.value })
	}
	l.applies(list...)
	if !list[0].moves() {
		steps, moves, err := l.opts.steps(db, list)
		if w.steps, list = append(w.steps, steps...), moves; err == nil {
			return w, nil
		} else if len(list) == 0 {
			return nil, err
		}
	}
	for i, m := range list {
		switch other := list[0]; {
		case !m.moves():
			return nil, fmt.Errorf("two Migrations take a Map[%s, %s] of table %q: want one Migrate, or one "+
				"or more MigrateTo", m.key, m.old, name)
		case m.key != other.key || m.old != other.old:
			return nil, fmt.Errorf("two Migrations take what was saved of table %q, as a Map[%s, %s] and "+
				"as a Map[%s, %s]: want one of them", name, other.key, other.old, m.key, m.old)
		case slices.ContainsFunc(list[:i], func(o *migration) bool { return o.to == m.to }):
			return nil, fmt.Errorf("two Migrations lead from table %q to table %q", name, m.to)
		}
		b := fork{move: m}
		if err := m.leads(db); err != nil {
			next := l.opts.after(m)
			if len(next) == 0 || next[0].moves() {
				return nil, err
			}
			if b.steps, _, err = l.opts.steps(db, next); err != nil {
				return nil, err
			}
		}
		w.moves = append(w.moves, b)
	}
	return w, nil
}

// after returns the migrations that take the records that m makes.
func (o *LoadOptions) after(m *migration) []*migration {
	return o.from(m.to, func(next *migration) bool { return next.key == m.toKey && next.old == m.made })
}

// steps returns the steps, beginning with the one in list, to the types that their table has. If
// none lead there, err says why, and moves are those that go on from the steps, if there are any.
func (o *LoadOptions) steps(db door.DB, list []*migration) (steps, moves []*migration, err error) {
	for {
		m := list[0]
		if len(list) > 1 {
			return nil, nil, fmt.Errorf("two Migrations take a Map[%s, %s] of table %q: want one Migrate, or "+
				"one or more MigrateTo", m.key, m.old, m.from)
		}
		steps = append(steps, m)
		if err = m.leads(db); err == nil {
			return steps, nil, nil
		}
		list = o.after(m)
		switch {
		case len(list) == 0 || len(steps) > len(o.Migrate):
			return nil, nil, err
		case list[0].moves():
			return steps, list, err
		}
	}
}

// leads returns nil if the table has the types that the migration makes.
func (m *migration) leads(db door.DB) error {
	t := db.Table(m.to)
	if t == nil {
		return noTable(m.to, m.toKey.String(), m.made.String())
	}
	if key, value := t.Types(); key != m.toKey || value != m.made {
		return fmt.Errorf("a Migration makes a Map[%s, %s] of table %q, which is a Map[%s, %s], and none "+
			"goes on from there", m.toKey, m.made, m.to, key, value)
	}
	return nil
}

func noTable(name, key, value string) error {
	return fmt.Errorf("there is no table %q: make it with mvcc.NewTable[%s, %s]", name, key, value)
}
