//go:build unix

package results

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What lies in the store and is no record or no profile is not read.
func TestStrangeFiles(t *testing.T) {
	s := openTestStore(t)
	require.NoError(t, s.SaveProfiled("x", testRun(t, 1, 1e6), map[string][]byte{"a.cpu.pb.gz": nil}))
	folders, err := filepath.Glob(filepath.Join(s.Dir(), "x.*"+folderExtension))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	require.NoError(t, os.Mkdir(filepath.Join(folders[0], "folder.pb.gz"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folders[0], "notes.txt"), nil, 0o644))
	require.NoError(t, os.Truncate(filepath.Join(folders[0], "a.cpu.pb.gz"), maxProfile+1))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folders[0], "pipe.pb.gz"), 0o644))
	require.NoError(t, syscall.Mkfifo(s.Path("pipe"), 0o644))
	require.NoError(t, os.WriteFile(s.Path("large"), nil, 0o644))
	require.NoError(t, os.Truncate(s.Path("large"), maxRecord+1))

	require.Equal(t, []SavedProfile{{"a.cpu.pb.gz", "cpu", "a", maxProfile + 1}}, get(t, s, "x").Profiles)
	_, err = s.Profile("x", "a.cpu.pb.gz")
	require.ErrorContains(t, err, "larger than 16 MB")
	for _, name := range []string{"folder.pb.gz", "pipe.pb.gz"} {
		_, err = s.Profile("x", name) // a pipe would block for ever
		require.ErrorContains(t, err, "no regular file")
	}
	list, err := s.List()
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Contains(t, list[0].Err, "larger than 256 MB")
	require.Contains(t, list[1].Err, "no regular file")
	require.Empty(t, list[2].Err)
}
