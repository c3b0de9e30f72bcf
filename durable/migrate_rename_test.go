package durable_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// loadT loads a backup with one table t of values V.
func loadT[K comparable, V any](
	t testing.TB, c durable.Codec, data []byte, migrate ...durable.Migration,
) (map[K]V, []string, error) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[K, V](db, "t", nil)
	b, err := durable.Load(t.Context(), db, bytes.NewReader(data), c, &durable.LoadOptions{Migrate: migrate})
	return maps.Collect(m.All()), b.Migrated(), err
}

// requireT checks that want is loaded.
func requireT[K comparable, V any](
	t testing.TB, c durable.Codec, data []byte, want map[K]V, migrate ...durable.Migration,
) {
	t.Helper()
	got, _, err := loadT[K, V](t, c, data, migrate...)
	require.NoError(t, err)
	require.Equal(t, want, got, c.Name)
}

func renamedT(names ...string) durable.Migration {
	is := map[string]string{}
	for i := 0; i < len(names); i += 2 {
		is[names[i]] = names[i+1]
	}
	return durable.RenameFields("t", is)
}

// A program whose fields were renamed twice, and added in between, loads the backups of each
// version of it, with the same options.
func TestRenameFields(t *testing.T) {
	type v1 struct{ Name, Mail string }
	type v2 struct{ FullName, Mail string }
	type v3 struct {
		FullName, Mail string
		Age            int
		hidden         int
	}
	type v4 struct {
		Address, WholeName string
		Age                int
		hidden             int
	}
	steps := []durable.Migration{renamedT("Name", "FullName"), renamedT("FullName", "WholeName", "Mail", "Address")}
	for _, c := range codecs {
		for i, data := range [][]byte{
			savedTable(t, c, "t", map[int]v1{1: {"Ada", "a@b"}, 2: {}}, nil),
			savedTable(t, c, "t", map[int]v2{1: {"Ada", "a@b"}, 2: {}}, nil),
			savedTable(t, c, "t", map[int]v3{1: {"Ada", "a@b", 0, 0}, 2: {}}, nil),
			savedTable(t, c, "t", map[int]v4{1: {"a@b", "Ada", 0, 0}, 2: {}}, nil),
		} {
			got, migrated, err := loadT[int, v4](t, c, data, steps...)
			require.NoError(t, err, "version %d", i+1)
			require.Equal(t, map[int]v4{1: {"a@b", "Ada", 0, 0}, 2: {}}, got, "version %d", i+1)
			require.Equal(t, i < 3, len(migrated) == 1)
			_, _, err = loadT[int, v4](t, c, data, steps[0], renamedT("FullName", "WholeName"))
			require.Equal(t, i < 3, err != nil, "Mail would be lost")
		}
		// A value of no such version is refused, and one that lacks fields loses nothing.
		_, _, err := loadT[int, v4](t, c,
			savedTable(t, c, "t", map[int]struct{ Name, Other string }{1: {}}, nil), steps...)
		require.ErrorAs(t, err, new(*durable.SchemaError))
		requireT(t, c, savedTable(t, c, "t", map[int]struct{ WholeName string }{1: {"x"}}, nil),
			map[int]v4{1: {WholeName: "x"}}, steps...)
	}
}

type streets1 struct {
	Street string
	No     *int
	When   time.Time
}

type streets2 struct {
	Road   string
	hidden int
	No     *int
	When   time.Time
}

type (
	list1 []streets1
	list2 []streets2
)

type places1 struct {
	Home  *streets1
	List  list1
	Empty []streets1
	Array [2]streets1
	ByKey map[string][]*streets1
	Addr  struct{ In streets1 }
	Plain *streets1
	Nil   map[string]streets1
}

type places2 struct {
	Address struct{ Within streets2 } // was Addr, and In
	Home    *streets2
	List    list2
	Empty   []streets2
	Array   [2]streets2
	ByKey   map[string][]*streets2
	Plain   *streets1
	Nil     map[string]streets2
	More    string
}

// Paths lead through pointers, slices, arrays and maps; nil and empty ones stay so.
func TestRenameFieldsWithin(t *testing.T) {
	n, when := 7, time.Unix(1, 2).UTC()
	s1, s2 := streets1{"a", &n, when}, streets2{"a", 0, &n, when}
	zero := 0
	z1, z2 := streets1{"", &zero, when}, streets2{"", 0, &zero, when}
	from := places1{Home: &streets1{}, List: list1{s1, z1}, Empty: []streets1{}, Array: [2]streets1{1: s1},
		ByKey: map[string][]*streets1{"x": {&s1, &z1}, "y": {}, "z": nil}, Plain: &s1}
	from.Addr.In = s1
	to := places2{Home: &streets2{}, List: list2{s2, z2}, Empty: []streets2{}, Array: [2]streets2{1: s2},
		ByKey: map[string][]*streets2{"x": {&s2, &z2}, "y": {}, "z": nil}, Plain: &s1}
	to.Address.Within = s2
	renames := []string{"Addr", "Address", "Addr.In", "Address.Within", "Addr.In.Street", "Address.Within.Road"}
	for _, name := range []string{"Home", "List", "Empty", "Array", "ByKey", "Nil"} {
		renames = append(renames, name+".Street", name+".Road")
	}
	for _, c := range codecs {
		data := savedTable(t, c, "t", map[[2]int]*places1{{1, 2}: &from, {3}: nil}, nil)
		requireT(t, c, data, map[[2]int]*places2{{1, 2}: &to, {3}: nil}, renamedT(renames...))
	}
}

// Of codec json a name is that of a tag, whose options stay.
func TestRenameFieldsByTag(t *testing.T) {
	type was struct {
		Name  string `json:"name"`
		Count int    `json:"c,string"`
	}
	type is struct {
		FullName string `json:"full_name" other:"x"`
		Number   int    `json:"number,string"`
		Plain    int
	}
	data := savedTable(t, durable.JSON, "t", map[int]was{1: {"Ada", 7}}, nil)
	requireT(t, durable.JSON, data, map[int]is{1: {"Ada", 7, 0}},
		renamedT("name", "full_name", "c", "number"))
	_, _, err := loadT[int, is](t, durable.JSON, data, renamedT("Name", "FullName"))
	require.ErrorContains(t, err, `RenameFields of table "t": there is no field FullName in durable_test.is`)
}

// A renaming may lead to the old type of another Migration, and one of these to where a renaming
// begins.
func TestRenameFieldsAndMigrate(t *testing.T) {
	type v1 struct{ Name string }
	type v2 struct{ FullName string }
	type v3 struct{ First, Last string }
	type v4 struct{ First, Family string }
	split := durable.Migrate("t", func(_ int, old v2) (v4, error) {
		first, last, _ := strings.Cut(old.FullName, " ")
		return v4{first, last}, nil
	})
	steps := []durable.Migration{renamedT("Name", "FullName"), split, renamedT("Last", "Family")}
	for _, c := range codecs {
		for _, data := range [][]byte{
			savedTable(t, c, "t", map[int]v1{1: {"Ada Lovelace"}}, nil),
			savedTable(t, c, "t", map[int]v2{1: {"Ada Lovelace"}}, nil),
			savedTable(t, c, "t", map[int]v3{1: {"Ada", "Lovelace"}}, nil),
			savedTable(t, c, "t", map[int]v4{1: {"Ada", "Lovelace"}}, nil),
		} {
			requireT(t, c, data, map[int]v4{1: {"Ada", "Lovelace"}}, steps...)
		}
		// To other keys, and merged with a table that is there.
		byName := durable.MigrateTo("old", "t", func(id int, old v2) (string, int, error) { return old.FullName, id, nil })
		requireT(t, c, savedTable(t, c, "old", map[int]v1{1: {"Ada"}, 2: {"Bob"}}, nil),
			map[string]int{"Ada": 1, "Bob": 2},
			durable.RenameFields("old", map[string]string{"Name": "FullName"}), byName)
	}
}

type encodesItself struct{ Name string }

func (e encodesItself) MarshalText() ([]byte, error)   { return []byte(e.Name), nil }
func (e encodesItself) MarshalBinary() ([]byte, error) { return []byte(e.Name), nil }
func (e *encodesItself) UnmarshalText([]byte) error    { return nil }
func (e *encodesItself) UnmarshalBinary([]byte) error  { return nil }

type decodesItself struct{ Name string }

func (d *decodesItself) UnmarshalJSON([]byte) error { return nil }

type recursive struct {
	Name string
	Next []*recursive
}

type slicesOfThemselves []slicesOfThemselves

type Base struct{ ID int }

type embeds struct {
	Base
	Name string
}

type embedsHidden struct {
	recursive
	Title string
}

// An impossible renaming is refused before anything is loaded, with an error that says why; also by
// a backup of now, so that it is found in the first test.
func TestRenameFieldsRefuses(t *testing.T) {
	type plain struct {
		A, B string
		In   encodesItself
	}
	for _, c := range codecs {
		refuses(t, c, plain{}, "there is no field C in durable_test.plain", "Old", "C")
		refuses(t, c, plain{}, "there is no field A.X in durable_test.plain", "A.Y", "A.X")
		refuses(t, c, plain{}, "the fields A and B of durable_test.plain would both have been B", "B", "A")
		refuses(t, c, plain{}, "encodes or decodes itself, and what becomes of its fields is not known: use Migrate",
			"In.Old", "In.Name")
		refuses(t, c, recursive{}, "durable_test.recursive has itself within it, in the field Next: use Migrate",
			"Old", "Name")
		refuses(t, c, embedsHidden{}, "has the embedded field recursive", "Old", "Title")
		refuses(t, c, 7, "there is no field A in int", "B", "A")
		refuses(t, c, struct{}{}, "there is no field A in struct {}", "B", "A")
		refuses(t, c, struct{ A struct{} }{}, "there is no field A", "B", "A")
		refuses(t, c, []map[int]plain{}, "there is no field C", "B", "C")
		refuses(t, c, struct{ A, B struct{ X, Y int } }{}, "B.X was not called A.Old: the structs that it is in "+
			"had other names", "A.Old", "B.X")
		refuses(t, c, plain{}, "codec "+c.Name+" gives no field the name", map[string]string{
			"gob": "old", "json": "-"}[c.Name], "A")
		refuses(t, c, plain{}, "codec "+c.Name+" gives no field the name", `a"b`, "A")
	}
	for _, c := range codecs { // types that are made of themselves end
		refuses(t, c, slicesOfThemselves{}, "there is no field X", "Y", "X")
	}
	type tagged struct {
		Title string
		Kept  string `gob:"-"`
	}
	refuses(t, durable.Gob, tagged{}, "has a tag gob at the field Kept", "Name", "Title")
	refuses(t, durable.JSON, decodesItself{}, "durable_test.decodesItself encodes or decodes itself", "Old", "Name")
	refuses(t, durable.JSON, embeds{}, "durable_test.embeds has the embedded field Base, which codec json has not as "+
		"a field: use Migrate", "Old", "Name")
	own := durable.JSON
	own.Name = "own"
	refuses(t, own, plain{}, `is for codecs gob and json, and not for "own": use Migrate`, "B", "A")
	// Other tables do not care.
	_, _, err := loadT[int, int](t, own, savedTable(t, own, "t", map[int]int{1: 1}, nil),
		durable.RenameFields("other", map[string]string{"A": "B"}))
	require.NoError(t, err)
	// With gob an embedded field is a field.
	type embedded struct {
		Base
		Old string
	}
	data := savedTable(t, durable.Gob, "t", map[int]embedded{1: {Base{7}, "x"}}, nil)
	requireT(t, durable.Gob, data, map[int]embeds{1: {Base{7}, "x"}}, renamedT("Old", "Name"))
}

// refuses checks that a RenameFields is refused for a table of such values.
func refuses[V any](t *testing.T, c durable.Codec, v V, why string, names ...string) {
	t.Helper()
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[int, V](db, "t", nil)
	m.Store(1, v)
	for _, data := range [][]byte{
		savedTable(t, c, "t", map[int]V{2: v}, nil),
		savedTable(t, c, "t", map[int]struct{ Very, Old int }{2: {1, 2}}, nil),
	} {
		_, err := durable.Load(t.Context(), db, bytes.NewReader(data), c,
			&durable.LoadOptions{Migrate: []durable.Migration{renamedT(names...)}})
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, `RenameFields of table "t"`)
		require.Equal(t, 1, m.Len())
	}
}

func TestRenameFieldsPanics(t *testing.T) {
	for why, call := range map[string]func(){
		"durable: RenameFields: the name of a table is empty": func() { durable.RenameFields("", map[string]string{"A": "B"}) },
		"durable: RenameFields: names is empty, want what fields are called now, by what they were called": func() {
			durable.RenameFields("t", nil)
		},
		`durable: RenameFields: "A.": "B.C" has an empty name`: func() { renamedT("A.", "B.C") },
		`durable: RenameFields: "": "B" has an empty name`:     func() { renamedT("", "B") },
		`durable: RenameFields: "A": "B.C" moves the field to another struct, want a path of the same length`: func() {
			renamedT("A", "B.C")
		},
		`durable: RenameFields: two fields are called "C"`: func() { renamedT("A", "C", "B", "C") },
	} {
		require.PanicsWithValue(t, why, call)
	}
}
