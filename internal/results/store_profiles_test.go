package results

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func openTestStore(t *testing.T) *Store {
	t.Helper()
	t.Setenv(DirEnv, filepath.Join(t.TempDir(), "runs"))
	s, err := OpenStore()
	require.NoError(t, err)
	return s
}

func get(t *testing.T, s *Store, name string) Saved {
	t.Helper()
	saved, err := s.Get(name)
	require.NoError(t, err)
	return saved
}

// Profiles are kept with the run, replaced with it and deleted with it.
func TestProfilesAreKeptWithTheRun(t *testing.T) {
	s := openTestStore(t)
	run := testRun(t, 2, 1e6)
	profiles := map[string][]byte{"b.cpu.pb.gz": []byte("bb"),
		"a-keys=10-mvcc-threads=4.cpu.pb.gz": []byte("a")}
	require.NoError(t, s.SaveProfiled("x", run, profiles))
	require.NoError(t, s.SaveProfiled("x.y", run, profiles), "a name that begins like another")
	require.Equal(t, []SavedProfile{
		{"a-keys=10-mvcc-threads=4.cpu.pb.gz", "cpu", "a-keys=10-mvcc-threads=4", 1},
		{"b.cpu.pb.gz", "cpu", "b", 2},
	}, get(t, s, "x").Profiles)
	b, err := s.Profile("x", "b.cpu.pb.gz")
	require.NoError(t, err)
	require.Equal(t, "bb", string(b))
	_, err = s.Profile("x", "c.cpu.pb.gz")
	require.ErrorIs(t, err, ErrNoProfile)
	_, err = s.Profile("nosuch", "b.cpu.pb.gz")
	require.ErrorIs(t, err, ErrNoRun)

	run.Header.Seed++
	require.NoError(t, s.SaveProfiled("x", run, map[string][]byte{"new.cpu.pb.gz": nil}))
	require.Equal(t, []SavedProfile{{"new.cpu.pb.gz", "cpu", "new", 0}}, get(t, s, "x").Profiles)
	run.Header.Seed++
	require.NoError(t, s.Save("x", run))
	require.Empty(t, get(t, s, "x").Profiles)
	require.Len(t, get(t, s, "x.y").Profiles, 2)
	folders := func() int {
		list, err := filepath.Glob(filepath.Join(s.Dir(), "*"+folderExtension))
		require.NoError(t, err)
		return len(list)
	}
	require.Equal(t, 1, folders(), "nothing is left of what was replaced")
	require.NoError(t, s.Remove("x"))
	require.Equal(t, 1, folders())
	require.NoError(t, s.Remove("x.y"))
	left, err := os.ReadDir(s.Dir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// A run with profiles that cannot be kept is not there, and the one before it is.
func TestSavingProfilesIsAllOrNothing(t *testing.T) {
	s := openTestStore(t)
	run := testRun(t, 1, 1e6)
	require.NoError(t, s.SaveProfiled("x", run, map[string][]byte{"good.cpu.pb.gz": nil}))
	run.Header.Seed = 99
	for _, name := range []string{"../x.pb.gz", "a/b.pb.gz", "x.json", ".x.pb.gz", "", "a b.pb.gz",
		"-x.pb.gz", strings.Repeat("x", 300) + ".pb.gz", "$x.pb.gz"} {
		require.Error(t, CheckProfileName(name), name)
		require.Error(t, s.SaveProfiled("x", run, map[string][]byte{"a.cpu.pb.gz": nil, name: nil}), name)
		require.Error(t, s.SaveProfiled("y", run, map[string][]byte{name: nil}), name)
		_, err := s.Profile("x", name)
		require.Error(t, err)
	}
	saved := get(t, s, "x")
	require.EqualValues(t, 7, saved.Run.Header.Seed)
	require.Equal(t, []SavedProfile{{"good.cpu.pb.gz", "cpu", "good", 0}}, saved.Profiles)
	_, err := s.Get("y")
	require.ErrorIs(t, err, ErrNoRun)
	files, err := os.ReadDir(s.Dir())
	require.NoError(t, err)
	require.Len(t, files, 2, "the run and its profiles")
}

// A reader while a run is replaced finds one version: never the results of one
// with the profiles of the other.
func TestReplacingIsAtOnce(t *testing.T) {
	s := openTestStore(t)
	save := func(seed uint64) {
		run := testRun(t, 1, 1e6)
		run.Header.Seed = seed
		file := "even.cpu.pb.gz"
		if seed%2 == 1 {
			file = "odd.cpu.pb.gz"
		}
		require.NoError(t, s.SaveProfiled("x", run, map[string][]byte{file: nil}))
	}
	save(0)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				saved, err := s.Get("x")
				if err != nil {
					t.Error(err)
					return
				}
				// Gone, if it was replaced between the two; never the other's.
				for _, p := range saved.Profiles {
					if (saved.Run.Header.Seed%2 == 1) != (p.File == "odd.cpu.pb.gz") {
						t.Error("seed", saved.Run.Header.Seed, "with", p.File)
						return
					}
				}
			}
		})
	}
	for seed := range uint64(30) {
		save(seed + 1)
	}
	close(done)
	wg.Wait()
}

func TestFileNames(t *testing.T) {
	for want, s := range map[string]Sample{
		"transfer-mvcc-threads=4": {Workload: "transfer",
			Title: "Transfer", Engine: "mvcc", Threads: 4},
		"zipf-read-theta=0.5-value-size=16-1024-xsync-threads=1": {Workload: "zipf-read",
			Title: "ZipfRead/theta=0.5/value-size=16-1024", Engine: "xsync", Threads: 1},
		"a-gc-interval=500us-b_c-threads=1": {Workload: "a",
			Title: "A/gc-interval=500µs", Engine: "b c", Threads: 1},
	} {
		require.Equal(t, want, s.FileName())
		require.NoError(t, CheckProfileName(s.FileName()+".cpu"+ProfileExtension))
	}
}

// A comparison says what differs beside what was to be compared.
func TestDifferences(t *testing.T) {
	sources := func(edit func(h *Header)) (a, b *Source) {
		one, two := testRun(t, 6, 1e6), testRun(t, 6, 1e6)
		edit(&two.Header)
		a, err := one.Source("a")
		require.NoError(t, err)
		b, err = two.Source("b")
		require.NoError(t, err)
		return a, b
	}
	warnings := func(edit func(h *Header)) []string {
		a, b := sources(edit)
		c, err := Compare(a, b, Options{Alpha: 0.05})
		require.NoError(t, err)
		return c.Warnings
	}
	require.Empty(t, warnings(func(h *Header) { h.Seed++; h.Notes = []string{"x"} }))
	for want, edit := range map[string]func(h *Header){
		"Go: ":   func(h *Header) { h.Go = "go9" },
		"CPUs: ": func(h *Header) { h.CPUs += 5 },
		"GOGC: 50 in a, 7 in b": func(h *Header) {
			h.Settings = map[string]string{"GOGC": "7"}
		},
		"length of a sample: ": func(h *Header) { h.Ops = 5 },
		"warm-up: ":            func(h *Header) { h.Warmup++ },
		"isolation: ":          func(h *Header) { h.Isolation = []string{"snapshot"} },
		"loop: ": func(h *Header) {
			h.Loop = "poisson"
			h.Rates = []float64{1}
		},
		"only b was profiled: by a profile": func(h *Header) { h.Profiled = "by a profile" },
	} {
		list := warnings(edit)
		require.Len(t, list, 1, want)
		require.Contains(t, list[0], want)
	}
	a, b := sources(func(h *Header) { h.Profiled = "by a profile" })
	c, err := Compare(b, a, Options{Alpha: 0.05})
	require.NoError(t, err)
	require.Contains(t, c.Warnings[0], "only b was profiled")
	var text bytes.Buffer
	run := testRun(t, 1, 1)
	run.Header.Profiled = "by a profile"
	require.NoError(t, WriteBench(&text, run))
	require.Contains(t, text.String(), "# PROFILED: by a profile\n")
}
