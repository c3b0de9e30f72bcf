package runs_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
)

// crafted returns a profile in which a function of some file was seen n times.
func crafted(t *testing.T, function, file string, address uint64, n int64, kind ...string) []byte {
	t.Helper()
	f := &profile.Function{ID: 1, Name: function, SystemName: function, Filename: file}
	loc := &profile.Location{ID: 1, Address: address, Line: []profile.Line{{Function: f, Line: 5}}}
	return written(t, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: strings.Join(append(kind, "samples"),
			"-"), Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		Sample:   []*profile.Sample{{Value: []int64{n}, Location: []*profile.Location{loc}}},
		Function: []*profile.Function{f}, Location: []*profile.Location{loc},
	})
}

func written(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, p.Write(&buf))
	return buf.Bytes()
}

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return buf.Bytes()
}

// replace saves the run "old" with another profile.
func (s shelf) replace(data []byte) {
	s.Helper()
	s.save("old", measured(1, 2e6), map[string][]byte{file: data})
}

// pc returns the address of a function of this program.
func pc() uintptr { return reflect.ValueOf(crafted).Pointer() }

// A profile of this very program has the names of its files, one of an older build has lost them:
// the same function of both is nevertheless one in their difference.
func TestProfilesOfTwoBuilds(t *testing.T) {
	source, _ := runtime.FuncForPC(pc()).FileLine(pc())
	s := newShelf(t)
	s.replace(crafted(t, "main.work", "/elsewhere/main.go", uint64(pc()), 3))
	s.save("new", measured(3, 1e6), map[string][]byte{
		file: crafted(t, "main.work", source, uint64(pc()), 4),
	})
	s.shows("new/"+file+"/flamegraph", source)
	page := s.shows("new/" + file + "/minus/old/" + file + "/flamegraph")
	require.Equal(t, 1, strings.Count(page, `"FullName":"main.work"`), "once")
}

// A profile that names files, be it crafted or of a program with strange line
// directives, makes the server open none of them.
func TestProfilesOpenNoFiles(t *testing.T) {
	s := newShelf(t)
	dir := t.TempDir()
	names := []string{filepath.Join(dir, "secret.txt"), filepath.Join(dir, "secret.go"),
		"/etc/passwd", "foreign_test.go"}
	for _, name := range names[:2] {
		require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("confidential\n", 20)), 0o600))
	}
	for _, address := range []uint64{0, ^uint64(0), uint64(pc())} {
		for _, name := range names {
			s.replace(crafted(t, "main.leak", name, address, 3))
			for _, view := range []string{
				"source?f=leak", "source?f=leak&source_path=/etc&trim_path=/", "peek?f=leak",
				"minus/new/" + file + "/source?f=leak",
			} {
				w := s.get("old/" + file + "/" + view)
				if !strings.Contains(view, "source") {
					require.Equal(t, http.StatusOK, w.Code, view)
				}
				body := w.Body.String()
				for _, secret := range []string{"confidential", "root:x:", "func TestProfiles"} {
					require.NotContains(t, body, secret, view)
				}
			}
		}
	}
}

// Whatever is saved as a profile, the answer is a page or a clear refusal.
func TestForeignProfiles(t *testing.T) {
	s := newShelf(t)
	whole := crafted(t, "main.work", "main.go", 0, 1)
	defer func(before int64) { pprofui.MaxText = before }(pprofui.MaxText)
	pprofui.MaxText = 1 << 20
	bomb := zipped(t, make([]byte, 1<<20+1))
	require.Less(t, len(bomb), 1<<13)
	const legacy = "heap profile: 1: 2 [3: 4] @ heap/1048576\n"
	for name, c := range map[string]struct {
		data []byte
		text string
	}{
		"nothing":        {nil, "not compressed"},
		"text":           {[]byte(legacy), "not compressed"},
		"no profile":     {zipped(t, []byte("something else")), "cannot be read"},
		"empty":          {zipped(t, nil), "empty"},
		"cut off":        {whole[:len(whole)/2], "cannot be read"},
		"bomb":           {bomb, "larger than 1 MB uncompressed"},
		"large":          {make([]byte, 17<<20), "larger than 16 MB"},
		"legacy, zipped": {zipped(t, []byte(legacy)), "cannot be read"},
	} {
		s.replace(c.data)
		for _, view := range []string{"flamegraph", "minus/new/" + file + "/top"} {
			w := s.get("old/" + file + "/" + view)
			require.Equal(t, http.StatusUnprocessableEntity, w.Code, name)
			require.Contains(t, w.Body.String(), c.text, name)
			if name != "large" {
				require.Contains(t, w.Body.String(), fmt.Sprintf("profile %s of run old cannot be read: ",
					file))
			}
		}
	}
	s.replace(crafted(t, "main.work", "main.go", 0, 0))
	s.answers(map[string]answer{"old/" + file + "/flamegraph": {404, "nothing was sampled"}})
}
