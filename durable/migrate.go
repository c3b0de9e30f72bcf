package durable

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/seam"
)

// A Migration makes new records of the saved ones of a table whose types have changed since.
// [Migrate], [MigrateTo] and [RenameFields] make one, for [LoadOptions].Migrate. The zero Migration
// panics. docs/schemas.md in the repository has cases.
//
// It is chosen by the shapes in the backup, so the same program loads old backups and
// new ones:
//
//   - A table that was saved with its present shapes is loaded as it is.
//   - Otherwise a Migration of its name counts if its old types have exactly the saved shapes, but
//     for the order of fields and the names of types that do not encode themselves.
//
// The shape of a type is its exported fields, by the names that the codec gives them, and their
// types, down to those of Go itself; of a type that encodes itself it is the name. A backup without
// shapes is not migrated.
//
// The function is called for each record that is read, also one that differences replace later, in
// the goroutine of the call that loads: table by table, in the order of the saved names, or as
// [Migration.After] says. It may use the database, which has none of the loaded records yet. If it
// returns [ErrDrop] the record is left out. Any other error ends the call, with a
// [*MigrationError], and nothing is loaded; nor after a panic or runtime.Goexit.
type Migration struct{ of *migration }

// ErrDrop is returned by the function of a [Migration] to leave a record out.
var ErrDrop = errors.New("durable: the record is dropped")

// A MigrationError says that the function of a [Migration] has failed, or that two records have one
// key: nothing was loaded.
type MigrationError struct {
	Table, To string // the old table, by its present name, and the new one
	Key       any    // of the old record
	Err       error  // that of the function, or of its result
	_         struct{}
}

func (e *MigrationError) Error() string {
	to := ""
	if e.To != e.Table {
		to = fmt.Sprintf(" to table %q", e.To)
	}
	return fmt.Sprintf("the migration of table %q%s fails at key %s: %v", e.Table, to,
		seam.KeyText(e.Key), e.Err)
}

func (e *MigrationError) Unwrap() error { return e.Err }

// Migrate returns the Migration of a table whose values have changed, and whose keys have not: fn
// is given each saved record, and returns the new value. table is the present name, see
// [LoadOptions].Rename. Old and New must not have the same shape: a field with another meaning
// needs another name.
func Migrate[K comparable, Old, New any](
	table string, fn func(key K, old Old) (New, error),
) Migration {
	checkMigration("Migrate", fn == nil, table)
	m := migrationOf[K, Old, K, New](table, table)
	m.step = func(from decoder) decoder { return &step[K, Old, New]{of: m, from: from, fn: fn} }
	return Migration{m}
}

// MigrateTo returns a Migration to other keys, or to another table, or to both: fn returns the new
// key and value. To split a table, give several Migrations from it, with the same old types; to
// merge tables, give several to one table, which needs no Migration itself. The names are the
// present ones; from need not be a table of the program.
//
// Two old records with one new key are a [*MigrationError], which names both. When differences are
// loaded, the new record goes if the old one is deleted, overwritten or gets another key: notes for
// that keep both keys of each record, and up to a hundred bytes, as long as the returned Backup can
// be reached.
func MigrateTo[OldKey comparable, Old any, NewKey comparable, New any](
	from, to string, fn func(key OldKey, old Old) (NewKey, New, error),
) Migration {
	checkMigration("MigrateTo", fn == nil, from, to)
	return Migration{moveOf(from, to, fn)}
}

func checkMigration(call string, noFn bool, tables ...string) {
	for _, table := range tables {
		if table == "" {
			panic("durable: " + call + ": the name of a table is empty")
		}
	}
	if noFn {
		panic("durable: " + call + ": fn is nil")
	}
}

// A migration is a Migration without its types.
type migration struct {
	from, to              string
	key, old, toKey, made reflect.Type
	// step returns a decoder of new records, which uses one of old records; nil for a move.
	step func(from decoder) decoder
	// move returns a carrier of records to the table.
	move func() carrier
	// stay returns the move of the new records to where they are.
	stay  func() *migration
	after []string // tables that come before, see After
	// Of RenameFields it has only these: the fields, and a maker of types with the old names.
	fields []renamedField
	shadow func(of reflect.Type, codec string) renamedType
}

func (m *migration) moves() bool { return m.step == nil }

func migrationOf[K comparable, Old any, K2 comparable, New any](from, to string) *migration {
	return &migration{from: from, to: to,
		key: reflect.TypeFor[K](), old: reflect.TypeFor[Old](),
		toKey: reflect.TypeFor[K2](), made: reflect.TypeFor[New](),
		stay: func() *migration {
			return moveOf(to, to, func(key K2, v New) (K2, New, error) { return key, v, nil })
		}}
}

func moveOf[K comparable, Old any, K2 comparable, New any](
	from, to string, fn func(K, Old) (K2, New, error),
) *migration {
	m := migrationOf[K, Old, K2, New](from, to)
	m.move = func() carrier {
		return &carry[K, Old, K2, New]{of: m, fn: fn, at: map[K]K2{}}
	}
	return m
}

// failed returns the error of fn, or of its result; nil if fn leaves the record out.
func (m *migration) failed(key any, err error) error {
	if errors.Is(err, ErrDrop) {
		return nil
	}
	return &MigrationError{Table: m.from, To: m.to, Key: key, Err: err}
}

// A step decodes new records of a table, which have the keys of the old ones.
type step[K comparable, Old, New any] struct {
	of   *migration
	from decoder
	fn   func(K, Old) (New, error)
	old  seam.Saved[K, Old]
	gone bool // the last record is left out
}

// drops reports whether the record that was decoded last is left out.
func (s *step[K, Old, New]) drops() bool { return s.gone }

// Decode decodes the next record into to, which a [seam.Loader] gives to a decoder, or nil.
func (s *step[K, Old, New]) Decode(to any) error {
	if err := seam.DecodeRecord(s.from, &s.old); err != nil {
		return err
	}
	r := seam.Saved[K, New]{K: s.old.K, D: s.old.D}
	if !r.D {
		v, err := s.fn(r.K, s.old.V)
		if r.V, r.D = v, err != nil; err != nil {
			if err = s.of.failed(r.K, err); err != nil {
				return err
			}
		}
	}
	s.gone = r.D
	hand(&r, to)
	return nil
}

// hand puts a record into to, as a decoder does.
func hand[K comparable, V any](r *seam.Saved[K, V], to any) {
	switch to := to.(type) {
	case *seam.Saved[K, V]:
		*to = *r
	case *seam.SavedKey[K]:
		to.K, to.D = r.K, r.D
	}
}
