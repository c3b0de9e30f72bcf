package durable

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/door"
)

// RenameFields returns a Migration of a table in whose values fields have other names now: names
// has the present name of each, by the old one. A field in another struct has a path, as in
// {"Address.Street": "Address.Road"}, which leads through pointers, slices, arrays and the values
// of maps. Names are those of the codec.
//
// It applies if saved fields would be lost without it, and none with the old names; with
// [LoadOptions].AnyShape if fewer are lost with them. Give one Migration for each version, the
// oldest first: as many apply as are needed, from the last one on. Another Migration may go on from
// there, if the shape with the old names is exactly the saved one. Fields that change names with
// each other must differ in type, or beside others that do.
//
// It is for codecs gob and json, and copies each record by reflection. A struct with renamed fields
// must not encode itself, must not have itself within it, and with json must not have embedded
// fields; no two of its fields may have had one name. Otherwise the call that loads returns an
// error, and nothing is loaded. RenameFields panics if table, names or a name is empty, or if a
// path has another length.
func RenameFields(table string, names map[string]string) Migration {
	checkMigration("RenameFields", false, table)
	if len(names) == 0 {
		panic("durable: RenameFields: names is empty, want what fields are called now, by what they were called")
	}
	m := &migration{from: table, to: table, shadow: newShadow}
	for _, was := range slices.Sorted(maps.Keys(names)) {
		f := renamedField{strings.Split(was, "."), strings.Split(names[was], ".")}
		switch {
		case slices.Contains(f.was, "") || slices.Contains(f.is, ""):
			panic(fmt.Sprintf("durable: RenameFields: %q: %q has an empty name", was, names[was]))
		case len(f.was) != len(f.is):
			panic(fmt.Sprintf("durable: RenameFields: %q: %q moves the field to another struct, want a path of "+
				"the same length", was, names[was]))
		case slices.ContainsFunc(m.fields, func(o renamedField) bool { return slices.Equal(o.is, f.is) }):
			panic(fmt.Sprintf("durable: RenameFields: two fields are called %q", names[was]))
		}
		m.fields = append(m.fields, f)
	}
	return Migration{m}
}

// A renamedField has the path of a field, and the one that it had.
type renamedField struct{ was, is []string }

// renames reports whether a migration is of RenameFields: it learns its types when it is used.
func (m *migration) renames() bool { return m.shadow != nil }

// A renamedType is a type whose fields have older names. It is behind an interface, so that its
// code is not in programs that do not call RenameFields.
type renamedType interface {
	// undo gives fields the names they had before list. If it fails they keep their names.
	undo(list []renamedField) error
	// renaming returns the shape, and the step that decodes such records, with keys of type key.
	renaming(key reflect.Type) (backupfile.Shape, func(from decoder) decoder)
	// names returns the present names of fields, by the names in this type.
	names() fieldNames
}

// fieldNames are the present names of fields, by their old ones. A name has all names on the way to
// the field, each after a 0. A field that is not in it has its old name, within a present field.
type fieldNames map[string]string

func (n fieldNames) now(was string) string {
	if is, renamed := n[was]; renamed || was == "" {
		return is
	}
	last := strings.LastIndexByte(was, 0)
	return n.now(was[:last]) + was[last:]
}

// mixed returns a saved field to which n and other give different present names; "" if there is
// none.
func (n fieldNames) mixed(saved backupfile.Shape, other fieldNames) string {
	for _, names := range []fieldNames{n, other} {
		for _, was := range slices.Sorted(maps.Keys(names)) {
			if saved.Has(was) && n.now(was) != other.now(was) {
				return strings.ReplaceAll(was[1:], "\x00", ".")
			}
		}
	}
	return ""
}

// A renaming leads from values with the old names of fields to those of a table, or to those that
// another migration takes.
type renaming struct {
	key, value reflect.Type
	now        bool // the types are those of the table
	saved      backupfile.Shape
	names      fieldNames
	by         []*migration
	step       func(from decoder) decoder
}

// renamings returns the renamings of a table. An error names the mistake in a RenameFields.
func (l *loading) renamings(db door.DB, name string) (list []renaming, err error) {
	var renames []*migration // the last one first
	for _, m := range l.opts.Migrate {
		if m.of.from == name && m.of.renames() {
			renames = slices.Insert(renames, 0, m.of)
		}
	}
	if len(renames) == 0 {
		return nil, nil
	}
	if codec := l.codec.Name; codec != "gob" && codec != "json" {
		return nil, fmt.Errorf("RenameFields of table %q is for codecs gob and json, and not for %q: use Migrate",
			name, codec)
	}
	var types []renaming
	if t := db.Table(name); t != nil {
		key, value := t.Types()
		types = append(types, renaming{key: key, value: value, now: true})
	}
	for _, m := range l.opts.from(name, func(*migration) bool { return true }) {
		types = append(types, renaming{key: m.key, value: m.old})
	}
	failed, used := map[*migration]error{}, map[*migration]bool{}
	for _, of := range types {
		t := renames[0].shadow(of.value, l.codec.Name)
		states := []renaming{{saved: backupfile.ShapeOf(of.value, l.codec.Name)}}
		for _, m := range renames {
			if err := t.undo(m.fields); err != nil {
				failed[m] = cmp.Or(failed[m], err)
				continue
			}
			used[m] = true
			of.saved, of.step = t.renaming(of.key)
			of.names, of.by = t.names(), append(slices.Clip(of.by), m)
			for _, s := range states {
				if field := of.names.mixed(of.saved, s.names); field != "" && of.saved.Same(s.saved) {
					return nil, fmt.Errorf("RenameFields of table %q: %s has the same shape with the names of "+
						"before, so that which field a saved %s is cannot be told: use Migrate, from a type of "+
						"another shape", name, of.value, field)
				}
			}
			states = append(states, of)
			list = append(list, of)
		}
	}
	for _, m := range renames {
		if !used[m] && failed[m] != nil {
			return nil, fmt.Errorf("RenameFields of table %q: %w", name, failed[m])
		}
	}
	return list, nil
}

// renaming chooses the renaming of a table that was saved; nil if there is none. least is how many
// losses there are without a renaming. With AnyShape a renaming with fewer losses will do.
func (l *loading) renaming(of backupfile.TableHeader, list []renaming, least int) (*renaming, error) {
	var exact, fits *renaming
	asIs := least == 0
	for i := range list {
		r := &list[i]
		keys := backupfile.ShapeOf(r.key, l.codec.Name)
		if of.KeyShape.Same(keys) && of.ValueShape.Same(r.saved) {
			if exact == nil {
				exact = r
			} else if !exact.now && (exact.key != r.key || exact.value != r.value) {
				return nil, fmt.Errorf("RenameFields makes of what was saved of table %q what two Migrations take, "+
					"a Map[%s, %s] and a Map[%s, %s]: want one of them", l.opts.renamed(of.Name), exact.key,
					exact.value, r.key, r.value)
			}
		}
		// Fields may have been added.
		n := len(of.KeyShape.Lost(keys, "")) + len(of.ValueShape.Lost(r.saved, ""))
		if !r.now || n > 0 && (!l.opts.AnyShape || n >= least) {
			continue
		}
		if fits == nil || n < least {
			fits = r
		}
		least = min(least, n)
		other := fits.names
		if asIs {
			other = nil
		}
		if field := r.names.mixed(of.ValueShape, other); field != "" && exact == nil {
			return nil, fmt.Errorf("RenameFields of table %q: the field %s was saved, and which one it is now "+
				"cannot be told, as other fields were not: use Migrate, from the type of then",
				l.opts.renamed(of.Name), field)
		}
	}
	if exact == nil && !asIs {
		exact = fits
	}
	return exact, nil
}
