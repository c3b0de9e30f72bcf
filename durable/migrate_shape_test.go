package durable_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	address struct {
		City string
		Zip  int
	}
	customer struct {
		Name    string `json:"name"`
		Since   time.Time
		Home    *address
		Others  map[string][]address
		Friend  *customer
		private int
	}
	// The types below are those that customer might become: all but the first few lose something.
	addressMore struct {
		Country string
		City    string
		Zip     int
	}
	customerMore struct {
		New    int
		Friend *customerMore
		Others map[string][]addressMore
		Home   *addressMore
		Since  time.Time
		Name   string `json:"name"`
		other  string
	}
	customerTagged struct {
		FullName string `json:"name"`
		Since    time.Time
		Home     *address
		Others   map[string][]address
		Friend   *customerTagged
	}
	customerLess struct {
		Name   string `json:"name"`
		Since  time.Time
		Home   *address
		Friend *customerLess
	}
	addressText  struct{ City, Zip string }
	customerDeep struct {
		Name   string `json:"name"`
		Since  time.Time
		Home   *address
		Others map[string][]addressText
		Friend *customerDeep
	}
	customerTime struct {
		Name   string `json:"name"`
		Since  string
		Home   address
		Others map[int][]address
		Friend *customerTime
	}
	hiddenTag struct {
		Name   string `json:"-"`
		Since  time.Time
		Home   *address
		Others map[string][]address
		Friend *hiddenTag
	}
)

// loadAs loads the backup of a table into one of another type of value.
func loadAs[V any](t *testing.T, data []byte, c durable.Codec, opts *durable.LoadOptions) (V, error) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[int, V](db, "customers", nil)
	_, err := durable.Load(t.Context(), db, bytes.NewReader(data), c, opts)
	v, _ := m.Load(1)
	if err != nil {
		require.Zero(t, m.Len())
	}
	return v, err
}

// A type that would lose saved data is refused, and the loss said in words; one that loses nothing
// is not; and each can be had if it is asked for.
func TestShapes(t *testing.T) {
	_, _ = customer{}.private, customerMore{}.other
	for _, c := range codecs {
		db := newDB(t)
		ada := customer{Name: "ada", Home: &address{"London", 1}, Since: time.Unix(1, 0).UTC(),
			Others: map[string][]address{"work": {{"Paris", 2}}}}
		mvcc.NewTable[int, customer](db, "customers", nil).Store(1, ada)
		var b bytes.Buffer
		info, err := durable.Save(t.Context(), db, &b, c, nil)
		require.NoError(t, err)
		table := info.SavedTables()[0]
		name := map[string]string{"gob": "Name", "json": "name"}[c.Name]
		require.Equal(t, "struct{"+name+" string; Since time.Time; Home *struct{City string; Zip int}; "+
			"Others map[string][]struct{City string; Zip int}; Friend *...}",
			table.ValueShape.String())
		require.Equal(t, "int", table.KeyShape.String())

		more, err := loadAs[customerMore](t, b.Bytes(), c, nil)
		require.NoError(t, err)
		require.Equal(t, "Paris", more.Others["work"][0].City)
		tagged, err := loadAs[customerTagged](t, b.Bytes(), c, nil)
		if c.Name == "json" {
			require.NoError(t, err)
			require.Equal(t, "ada", tagged.FullName)
		}
		check := func(err error, want ...string) {
			t.Helper()
			var schema *durable.SchemaError
			require.ErrorAs(t, err, &schema)
			require.Equal(t, want, schema.Lost)
			require.Equal(t, "customers", schema.Table)
			require.Equal(t, "durable_test.customer", schema.Saved[1])
			require.ErrorContains(t, err, strings.Join(want, "; "))
		}
		if c.Name == "gob" {
			check(err, "the field Name of the value is gone")
		}
		_, err = loadAs[customerLess](t, b.Bytes(), c, nil)
		check(err, "the field Others of the value is gone")
		_, err = loadAs[customerDeep](t, b.Bytes(), c, nil)
		check(err, "the field Zip of an element of an element of the field Others of the value was int, "+
			"and is string")
		_, err = loadAs[customerTime](t, b.Bytes(), c, nil)
		check(err, "the field Since of the value was time.Time, and is string",
			"the field Home of the value was *struct{City string; Zip int}, and is struct{City string; Zip int}",
			"a key of the field Others of the value was string, and is int")
		_, err = loadAs[int](t, b.Bytes(), c, nil)
		check(err, "the value was "+table.ValueShape.String()+", and is int")
		_, err = loadAs[hiddenTag](t, b.Bytes(), c, nil)
		if c.Name == "json" {
			check(err, "the field name of the value is gone")
		}
		less, err := loadAs[customerLess](t, b.Bytes(), c, &durable.LoadOptions{AnyShape: true})
		require.NoError(t, err)
		require.Equal(t, "ada", less.Name)
	}
}

// A header may be larger than a frame.
func TestManyTables(t *testing.T) {
	db, to := newDB(t), newDB(t)
	for i := range 500 {
		name := strings.Repeat("n", i+1)
		mvcc.NewTable[int, customer](db, name, nil).Store(i, customer{Name: name})
		mvcc.NewTable[int, customer](to, name, nil)
	}
	var b bytes.Buffer
	info, err := durable.Save(t.Context(), db, &b, durable.Gob, nil)
	require.NoError(t, err)
	loaded, err := durable.Load(t.Context(), to, &b, durable.Gob, nil)
	require.NoError(t, err)
	require.Equal(t, info.SavedTables(), loaded.SavedTables())
	last, _ := mvcc.Table[int, customer](to, strings.Repeat("n", 500))
	require.Equal(t, 1, last.Len())
}
