package durable_test

import (
	"bytes"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Names that other fields have now are never mixed up: a name that cannot be told is refused.
func TestRenameFieldsThatCannotBeTold(t *testing.T) {
	type pair struct{ A, B int }
	type next struct{ B, C int }
	type within struct {
		P *[]pair
		N int
	}
	for _, c := range codecs {
		refused := func(err error, why string) {
			t.Helper()
			require.ErrorContains(t, err, `RenameFields of table "t": `+why)
		}
		swap := "durable_test.pair has the same shape with the names of before, so that which field a saved A is " +
			"cannot be told: use Migrate, from a type of another shape"
		_, _, err := loadT[int, pair](t, c, savedTable(t, c, "t", map[int]pair{1: {1, 2}}, nil),
			renamedT("A", "B", "B", "A"))
		refused(err, swap)
		_, _, err = loadT[int, pair](t, c, savedTable(t, c, "t", map[int]struct{ A int }{1: {1}}, nil),
			renamedT("A", "B", "B", "A"))
		refused(err, swap)
		_, _, err = loadT[int, within](t, c, savedTable(t, c, "t", map[int]within{1: {N: 1}}, nil),
			renamedT("P.A", "P.B", "P.B", "P.A"))
		refused(err, "durable_test.within has the same shape with the names of before, so that which field a saved P.A")
		// The saved B may be the field of that name before, or now.
		_, _, err = loadT[int, next](t, c, savedTable(t, c, "t", map[int]struct{ B int }{1: {1}}, nil),
			renamedT("A", "B", "B", "C"))
		refused(err, "the field B was saved, and which one it is now cannot be told, as other fields were not")
		type third struct{ D, E int }
		_, _, err = loadT[int, third](t, c, savedTable(t, c, "t", map[int]struct{ B int }{1: {1}}, nil),
			renamedT("A", "B", "B", "C"), renamedT("B", "D", "C", "E"))
		refused(err, "the field B was saved")
		// Each of these can be told.
		pairs := savedTable(t, c, "t", map[int]pair{1: {1, 2}}, nil)
		requireT(t, c, pairs, map[int]next{1: {1, 2}}, renamedT("A", "B", "B", "C"))
		requireT(t, c, savedTable(t, c, "t", map[int]next{1: {1, 2}}, nil), map[int]next{1: {1, 2}},
			renamedT("A", "B", "B", "C"))
		requireT(t, c, savedTable(t, c, "t", map[int]struct{ C int }{1: {1}}, nil),
			map[int]next{1: {0, 1}}, renamedT("A", "B", "B", "C"))
		requireT(t, c, pairs, map[int]third{1: {1, 2}}, renamedT("A", "B", "B", "C"),
			renamedT("B", "D", "C", "E"))
		requireT(t, c, pairs, map[int]pair{1: {1, 2}}, renamedT("A", "C"), renamedT("C", "A"))
		one := durable.Migrate("t", func(_ int, old struct{ B int }) (next, error) { return next{C: old.B}, nil })
		requireT(t, c, savedTable(t, c, "t", map[int]struct{ B int }{1: {1}}, nil),
			map[int]next{1: {0, 1}}, renamedT("A", "B", "B", "C"), one)
	}
}

// With AnyShape a field that has another name now is not lost because another one is gone.
func TestRenameFieldsWithAnyShape(t *testing.T) {
	type v1 struct {
		Name, Old string
	}
	type v3 struct{ WholeName string }
	steps := []durable.Migration{renamedT("Name", "FullName"), renamedT("FullName", "WholeName")}
	for _, c := range codecs {
		data := savedTable(t, c, "t", map[int]v1{1: {"Ada", "x"}}, nil)
		db := newDB(t)
		m := mvcc.NewTable[int, v3](db, "t", nil)
		_, err := durable.Load(t.Context(), db, bytes.NewReader(data), c, &durable.LoadOptions{Migrate: steps, AnyShape: true})
		require.NoError(t, err)
		require.Equal(t, map[int]v3{1: {"Ada"}}, maps.Collect(m.All()))
		_, _, err = loadT[int, v3](t, c, data, steps...)
		require.ErrorAs(t, err, new(*durable.SchemaError))
		// A backup made since is loaded as it is.
		data = savedTable(t, c, "t", map[int]struct{ WholeName, Old string }{1: {"Ada", "x"}}, nil)
		_, err = durable.Load(t.Context(), db, bytes.NewReader(data), c, &durable.LoadOptions{Migrate: steps, AnyShape: true})
		require.NoError(t, err)
		require.Equal(t, map[int]v3{1: {"Ada"}}, maps.Collect(m.All()))
	}
}

// A Migration is not left out if its old type, with names of before, fits into the table too.
func TestRenameFieldsToWhatAMigrationTakes(t *testing.T) {
	type v1 struct{ Name string }
	type v2 struct{ FullName string }
	type v3 struct {
		FullName string
		Len      int
	}
	type other3 struct {
		FullName, Name string
		Len            int
	}
	for _, c := range codecs {
		for _, data := range [][]byte{
			savedTable(t, c, "t", map[int]v1{1: {"Ada"}}, nil), savedTable(t, c, "t", map[int]v2{1: {"Ada"}}, nil),
		} {
			requireT(t, c, data, map[int]v3{1: {"Ada", 3}}, renamedT("Name", "FullName"),
				durable.Migrate("t", func(_ int, o v2) (v3, error) { return v3{o.FullName, len(o.FullName)}, nil }))
			requireT(t, c, data, map[int]other3{1: {"Ada", "", 3}}, renamedT("Name", "FullName"),
				durable.Migrate("t", func(_ int, o v2) (other3, error) { return other3{o.FullName, "", 3}, nil }))
		}
	}
}
