package results

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shelf has files and folders of files, also those that cannot be shown; their profiles are those
// of the records.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	run := testRun(t, 2, 1e6)
	of := run.Samples[0].FileName()
	run.Profiles = map[string][]byte{of + ".block.pb.gz": []byte("b"), of + ".cpu.pb.gz": []byte("c"),
		"whole-run.cpu.pb.gz": []byte("w"), "z.odd.pb.gz": nil}
	text := encode(t, run)
	file := write("single.json", text)
	write("folder/before.json", text)
	write("folder/a b.json", text)
	write("folder/broken.json", "{}")
	write("folder/notes.txt", text)
	write("folder/more/x.json", text)
	again := write("again/before.json", text)
	s, err := OpenShelf(file, filepath.Join(dir, "folder"), filepath.Dir(again))
	require.NoError(t, err)
	list := func() (names []string) {
		files, err := s.Files()
		require.NoError(t, err)
		for _, f := range files {
			saved, err := f.Get()
			require.Equal(t, err == nil, saved.Err == "")
			names = append(names, fmt.Sprint(strings.TrimPrefix(f.Name, dir), " ", err == nil))
		}
		return names
	}
	require.Equal(t, []string{"/again/before.json false", "/folder/a b.json false", "before true",
		"broken false", "single true"}, list())

	saved, err := s.Get("before")
	require.NoError(t, err)
	require.Equal(t, []string{"balanced"}, saved.Workloads)
	var profiles []string
	for _, p := range saved.Profiles {
		profiles = append(profiles, p.Of+" "+p.Kind)
	}
	require.Equal(t, []string{"The whole run cpu", run.Samples[0].Name(1) + " cpu",
		run.Samples[0].Name(1) + " block", "z odd"}, profiles)
	data, err := s.Profile("single", "whole-run.cpu.pb.gz")
	require.NoError(t, err)
	require.Equal(t, "w", string(data))
	_, err = s.Profile("single", "../x.pb.gz")
	require.ErrorIs(t, err, ErrNoProfile)

	require.NoError(t, os.Remove(file))
	write("folder/new.json", text)
	require.Len(t, list(), 5)
	_, err = s.Get("single")
	require.ErrorIs(t, err, ErrNoRun)
	for _, name := range []string{"", "../again/before", file, "before.json"} {
		_, err = s.Get(name)
		require.ErrorIs(t, err, ErrNoRun, name)
	}
	_, err = OpenShelf(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	run.Profiles["../x.pb.gz"] = nil
	_, err = Read(strings.NewReader(encode(t, run)))
	require.ErrorContains(t, err, `"../x.pb.gz"`)
}
