package durable

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	user struct {
		Name string
		Age  int
	}
	userRenamed struct {
		FullName string
		Age      int
	}
)

// A program whose types have lost a field is refused, and changes nothing, unless that is asked
// for; then all is there for the program before.
func TestRenamedField(t *testing.T) {
	for _, c := range codecs {
		dir := t.TempDir()
		m, j, err := openTable[user](t, dir, &Options{Codec: c})
		require.NoError(t, err)
		m.Store(1, user{"ada", 36})
		require.NoError(t, j.Close())

		was := imageOf(t, dir, 0)
		_, _, err = openTable[userRenamed](t, dir, &Options{Codec: c})
		var schema *SchemaError
		require.ErrorAs(t, err, &schema)
		require.Equal(t, []string{"the field Name of the value is gone"}, schema.Lost)
		require.ErrorContains(t, err, dir)
		require.Equal(t, was, imageOf(t, dir, 0))
		require.NoDirExists(t, filepath.Join(dir, beforeName))

		renamed, _, err := openTable[userRenamed](t, dir, &Options{Codec: c, AnyShape: true})
		require.NoError(t, err)
		v, _ := renamed.Load(1)
		require.Equal(t, userRenamed{"", 36}, v)
		m, j, err = openTable[user](t, filepath.Join(crash(t, dir), beforeName), &Options{Codec: c})
		require.NoError(t, err)
		got, _ := m.Load(1)
		require.Equal(t, user{"ada", 36}, got)
		require.NoError(t, j.Close())
	}
}

// openTable opens a journal of a database with one table of users.
func openTable[V any](
	t *testing.T, dir string, opts *Options,
) (*mvcc.Map[int, V], *Journal, error) {
	db := mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	m := mvcc.NewTable[int, V](db, "users", nil)
	j, err := Open(t.Context(), db, dir, opts)
	if err == nil {
		t.Cleanup(func() { _ = j.Close() })
	}
	return m, j, err
}
