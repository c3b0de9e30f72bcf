package dump

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
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
	backupfile.TableHeader
	first place            // the first part with records, and the number of the table there
	last  map[digest]place // where the keys were changed last, by groups
}

// A place is a record: of which part, and which of the table there.
type place struct{ part, n int32 }

// has reports whether a table of a part, of the same name, is t, and not one that was closed before.
func (t *tableState) has(part, at int) bool {
	return int32(part) > t.first.part || int32(part) == t.first.part && int32(at) >= t.first.n
}

// stateOf reads the groups once.
func stateOf(s *source) (*state, error) {
	st := &state{source: s}
	for i := range s.parts {
		if err := st.read(i); err != nil {
			return st, err
		}
	}
	return st, nil
}

// begin takes the DB of a part from its header. If it is another DB than before, the same tables
// have other IDs: its first group names all of them.
func (st *state) begin(b *backupfile.Reader) {
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

// enter returns the state of a table of which a part has records. If the ID is another one, so is
// the table: the one before was closed.
func (st *state) enter(t *backupfile.TableHeader, part, at int) *tableState {
	is := st.table(t.Name)
	switch {
	case is == nil:
		is = &tableState{}
		st.tables = append(st.tables, is)
	case is.ID != t.ID:
	default:
		return is
	}
	*is = tableState{*t, place{int32(part), int32(at)}, map[digest]place{}}
	return is
}

func (st *state) leave(t *backupfile.TableHeader) {
	st.tables = slices.DeleteFunc(st.tables, func(is *tableState) bool {
		return is.Name == t.Name && is.ID == t.ID
	})
}

// read reads a part: all of a group, and the header of a backup, with which it begins.
func (st *state) read(i int) error {
	if err := st.ctx.Err(); err != nil {
		return err
	}
	b, err := st.reader(i)
	if err != nil {
		return err
	}
	if st.begin(b); i == 0 {
		st.codec, st.since = b.Codec, b.Since
	}
	for at := range b.Tables {
		t := &b.Tables[at]
		if t.Closed {
			st.leave(t)
			continue
		}
		is := st.enter(t, i, at)
		if i == 0 {
			continue
		}
		from, err := b.Table(at)
		if err == nil {
			err = st.numbered(from, i, func(r *record, at place) error {
				key, err := digestOf(r.key)
				is.last[key] = at
				return err
			})
		}
		if err != nil {
			return st.at(i, err)
		}
	}
	return nil
}

// numbered calls visit for the records that a part has of a table.
func (st *state) numbered(
	from *backupfile.Table, part int, visit func(r *record, at place) error,
) error {
	n := 0
	return records(from, st.codec, func(r *record) error {
		n++
		if err := st.tick(n); err != nil {
			return err
		}
		return visit(r, place{int32(part), int32(n)})
	})
}

// each calls visit for all records as of the last commit, in the order in which they are in the
// files: those of the backup that were not changed since, and then the others. Of a backup of
// differences it visits all records, also deletions.
func (st *state) each(visit func(*tableState, *record) error) error {
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
			if err == nil {
				err = st.eachOf(from, i, visit)
			}
			if err != nil {
				return st.at(i, err)
			}
		}
	}
	return nil
}

// eachOf calls visit for the records that a part has of a table and that are neither deleted nor
// followed by another one of their key.
func (st *state) eachOf(
	from *backupfile.Table, part int, visit func(*tableState, *record) error,
) error {
	t := st.table(from.Name)
	if t == nil || !t.has(part, from.At) {
		return nil
	}
	err := st.numbered(from, part, func(r *record, at place) error {
		lives := st.since != 0 || !r.deleted
		if lives && len(t.last) > 0 {
			key, err := digestOf(r.key)
			if err != nil {
				return err
			}
			last, changed := t.last[key]
			lives = !changed || last == at
		}
		if !lives {
			return nil
		}
		return visit(t, r)
	})
	st.refused += from.Refused
	return err
}

// want restricts the tables to those of some names. If there is none of one that is an error.
func (st *state) want(names []string) error {
	var all []string
	for _, t := range st.tables {
		all = append(all, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("--table: there is no table %q; expected one of %q", name, all)
		}
	}
	st.tables = slices.DeleteFunc(st.tables, func(t *tableState) bool {
		return len(names) > 0 && !slices.Contains(names, t.Name)
	})
	return nil
}
