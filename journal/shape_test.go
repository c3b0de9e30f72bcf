package journal

import (
	"os"
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
	userMore struct {
		Name, Mail string
		Age        int
	}
)

// A program whose types have lost a field is refused, and changes nothing, unless that is asked
// for; and as long as it has not closed the journal all is there for the program before.
func TestRenamedField(t *testing.T) {
	for _, c := range codecs {
		dir := t.TempDir()
		ada := user{"ada", 36}
		m, j, err := openTable[user](t, dir, c, nil)
		require.NoError(t, err)
		m.Store(1, ada)
		require.NoError(t, j.Close())

		was := imageOf(t, dir, 0)
		_, _, err = openTable[userRenamed](t, dir, c, nil)
		var schema *mvcc.SchemaError
		require.ErrorAs(t, err, &schema)
		require.Equal(t, []string{"the field Name of the value is gone"}, schema.Lost)
		require.ErrorContains(t, err, dir)
		require.Equal(t, was, imageOf(t, dir, 0))
		require.NoDirExists(t, filepath.Join(dir, beforeName))

		renamed, _, err := openTable[userRenamed](t, dir, c, &Options{AnyShape: true})
		require.NoError(t, err)
		v, _ := renamed.Load(1)
		require.Equal(t, userRenamed{"", 36}, v)
		crashed := t.TempDir()
		for err = os.CopyFS(crashed, os.DirFS(dir)); err != nil; err = os.CopyFS(crashed, os.DirFS(dir)) {
			require.ErrorIs(t, err, os.ErrNotExist, "the journal takes its first backup meanwhile")
			crashed = t.TempDir()
		}
		_, _, err = openTable[user](t, crashed, c, nil)
		require.ErrorAs(t, err, &schema)
		m, j, err = openTable[user](t, filepath.Join(crashed, beforeName), c, nil)
		require.NoError(t, err)
		got, _ := m.Load(1)
		require.Equal(t, ada, got)
		require.NoError(t, j.Close())

		more, _, err := openTable[userMore](t, filepath.Join(crashed, beforeName), c, nil)
		require.NoError(t, err)
		added, _ := more.Load(1)
		require.Equal(t, userMore{"ada", "", 36}, added)
	}
}

// openTable opens a journal of a database with one table of users.
func openTable[V any](
	t *testing.T, dir string, c mvcc.Codec, opts *Options,
) (*mvcc.Map[int, V], *Journal, error) {
	db := mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	m := mvcc.NewTable[int, V](db, "users", nil)
	j, err := Open(t.Context(), dir, db, c, opts)
	if err == nil {
		t.Cleanup(func() { _ = j.Close() })
	}
	return m, j, err
}
