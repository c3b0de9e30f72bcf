package dump

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A state says which records of a source there are as of the last commit. It has a digest for each
// key that was changed by a group, and no values.
type state struct {
	*source
	codec   string
	since   uint64        // not 0 for a backup of differences
	tables  []*tableState // those that there are, in the order in which they came
	refused int           // records that were refused, and are not there
	db      string        // as the newest part says
}

// A tableState is a table.
type tableState struct {
	mvcc.BackupTable
	parts []tablePart
	last  map[digest]place // where the keys were changed last, by groups
}

// has reports whether a part, of a table of the same name, is of the table, and not of one that was
// closed before.
func (t *tableState) has(p tablePart) bool {
	first := t.parts[0]
	return p.part > first.part || p.part == first.part && p.at >= first.at
}

// A tablePart is where a table has records: which part, and which table of that.
type tablePart struct{ part, at int }

// A place is a record: of which part, and which of the table there.
type place struct{ part, n int32 }

// stateOf reads the groups once.
func stateOf(s *source) (*state, error) {
	st := &state{source: s}
	for i := range s.parts {
		if err := st.read(i); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// begin notes what the header of a part says of the state. In another life of the database the same
// tables have other IDs: its first group names all of them.
func (st *state) begin(b *mvcc.Backup) {
	if st.db == b.DB {
		return
	}
	st.db = b.DB
	for _, t := range b.Tables {
		if is := st.table(t.Name); is != nil {
			is.ID = t.ID
		}
	}
}

// table returns the table of that name, nil if there is none.
func (st *state) table(name string) *tableState {
	i := slices.IndexFunc(st.tables, func(t *tableState) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return st.tables[i]
}

// enter returns the table that a part has records of. One of another ID is another table: the one
// before was closed.
func (st *state) enter(t *mvcc.BackupTable) *tableState {
	is := st.table(t.Name)
	switch {
	case is == nil:
		is = &tableState{}
		st.tables = append(st.tables, is)
	case is.ID != t.ID:
		*is = tableState{}
	default:
		return is
	}
	is.BackupTable, is.last = *t, map[digest]place{}
	return is
}

func (st *state) leave(t *mvcc.BackupTable) {
	st.tables = slices.DeleteFunc(st.tables, func(is *tableState) bool {
		return is.Name == t.Name && is.ID == t.ID
	})
}

// read reads a part: all of a group, and the header of what it begins with.
func (st *state) read(i int) error {
	if err := st.ctx.Err(); err != nil {
		return err
	}
	b, err := st.reader(i)
	if err != nil {
		return err
	}
	if st.begin(&b.Backup); i == 0 {
		st.codec, st.since = b.Codec, b.Since
	}
	for at := range b.Tables {
		t := &b.Tables[at]
		if t.Closed {
			st.leave(t)
			continue
		}
		is := st.enter(t)
		is.parts = append(is.parts, tablePart{i, at})
		if i == 0 || !known(st.codec) {
			continue
		}
		from, err := b.Table(at)
		if err != nil {
			return st.at(i, err)
		}
		n := 0
		err = records(from, st.codec, func(r *record) error {
			is.last[digestOf(r.key)] = place{int32(i), int32(n)}
			n++
			return st.tick(n)
		})
		if err != nil {
			return st.at(i, err)
		}
	}
	return nil
}

// tick returns the error of ctx, now and then.
func (s *source) tick(n int) error {
	if n%256 == 0 {
		return s.ctx.Err()
	}
	return nil
}

// each calls visit for all records as of the last commit, in the order in which they are in the
// files: those of the backup that were not changed since, and then the others. Of a backup of
// differences it does so for all, also deletions.
func (st *state) each(visit func(*tableState, *record) error) error {
	st.refused = 0
	return st.eachTable(func(i int, from *backupfile.Table, t *tableState) error {
		return st.at(i, st.records(t, i, from, func(r *record, lives bool) error {
			if !lives {
				return nil
			}
			return visit(t, r)
		}))
	})
}

// eachTable calls visit for each part of a table that there is, in the order of the files.
func (st *state) eachTable(visit func(i int, from *backupfile.Table, t *tableState) error) error {
	for i := range st.parts {
		b, err := st.reader(i)
		if err != nil {
			return err
		}
		for {
			from, err := b.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return st.at(i, err)
			}
			if t := st.table(from.Name); t != nil && t.has(tablePart{i, from.At}) {
				if err := visit(i, from, t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// records calls visit for the records that a part has of a table, and says which of them live: they
// are not deleted, and no other one follows.
func (st *state) records(
	t *tableState, i int, from *backupfile.Table, visit func(r *record, lives bool) error,
) error {
	n := 0
	err := records(from, st.codec, func(r *record) error {
		lives := st.since != 0 || !r.deleted
		if len(t.last) > 0 {
			last, changed := t.last[digestOf(r.key)]
			lives = lives && (!changed || last == place{int32(i), int32(n)})
		}
		n++
		if err := st.tick(n); err != nil {
			return err
		}
		return visit(r, lives)
	})
	st.refused += from.Refused
	return err
}

// want restricts the tables to those of some names. If there are none of one that is an error.
func (st *state) want(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var all []string
	for _, t := range st.tables {
		all = append(all, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return usagef("--table: there is no table %q; expected one of %s", name, list(all))
		}
	}
	st.only(names)
	return nil
}

// only leaves the tables of some names.
func (st *state) only(names []string) {
	st.tables = slices.DeleteFunc(st.tables, func(t *tableState) bool {
		return !slices.Contains(names, t.Name)
	})
}

// list writes names as somebody would say them.
func list(names []string) string {
	if len(names) == 0 {
		return "none: it has no tables"
	}
	text := ""
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", name)
	}
	return text
}
