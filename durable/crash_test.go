package durable

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A machine knows how much of the journals is on disk, if it fails.
type machine struct {
	mu     sync.Mutex
	sizes  map[string]int64 // names of journals: how much of them was synced
	before func()           // is called before each write and sync
}

func (m *machine) create(path string) (file, error) {
	f, err := createFile(path)
	return &recorded{f, m, path, 0}, err
}

type recorded struct {
	file
	m    *machine
	path string
	size int64
}

func (f *recorded) Write(p []byte) (int, error) {
	f.m.before()
	n, err := f.file.Write(p)
	f.size += int64(n)
	return n, err
}

func (f *recorded) Sync() error {
	f.m.before()
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.sizes[f.path] = f.size
	return nil
}

// fail returns a folder as it may be after the machine has failed: any sector that was not synced
// may be there, or not.
func (m *machine) fail(t testing.TB, dir string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := t.TempDir()
	for name, data := range imageOf(t, dir, 0).files {
		if name[0] == 'j' {
			data = torn(data, m.sizes[filepath.Join(dir, name)])
		}
		require.NoError(t, os.WriteFile(filepath.Join(to, name), data, 0o600))
	}
	return to
}

func torn(data []byte, sure int64) []byte {
	const sector = 64 // smaller than those of a disk: more ways to be torn
	switch rand.IntN(4) {
	case 0:
		return data
	case 1:
		return data[:sure+rand.Int64N(int64(len(data))-sure+1)]
	}
	for at := sure; at < int64(len(data)); at += sector {
		if rand.IntN(2) == 0 {
			clear(data[at:min(at+sector, int64(len(data)))])
		}
	}
	return data
}

// Whenever the machine fails, there is a prefix of the commits with all that was acknowledged;
// and a journal that goes on from there can be opened again.
func TestCrashes(t *testing.T) {
	failed := 0
	for range 15 {
		dir, l := t.TempDir(), newLedger(t)
		m := &machine{sizes: map[string]int64{}}
		var acknowledged atomic.Int64
		type image struct {
			dir  string
			sure int
		}
		var images []image
		m.before = func() {
			if rand.IntN(10) == 0 && len(images) < 20 {
				sure := int(acknowledged.Load())
				images = append(images, image{m.fail(t, dir), sure})
			}
		}
		opts := &Options{Compact: 5000, Every: -1}
		if rand.IntN(3) == 0 {
			opts.Buffer = 30
		}
		j := opened(t, dir, l, opts, m.create)
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				for range 100 {
					if n := l.commit(w); n%7 == 0 && j.Sync(t.Context()) == nil {
						for was := acknowledged.Load(); int64(n) > was &&
							!acknowledged.CompareAndSwap(was, int64(n)); {
							was = acknowledged.Load()
						}
					}
				}
			})
		}
		wg.Wait()
		require.NoError(t, j.Close())
		files, err := list(dir)
		require.NoError(t, err)
		require.LessOrEqual(t, len(files.backups)+len(files.journals), 4,
			"nobody removes what is not needed")
		failed += len(images)
		for _, image := range images {
			crashed := newLedger(t)
			j := opened(t, image.dir, crashed, nil, nil)
			n := crashed.must(t, image.sure, true)
			require.Equal(t, n+1, crashed.commit(9))
			require.NoError(t, j.Close())
			again := newLedger(t)
			opened(t, image.dir, again, nil, nil)
			again.must(t, n+1, false)
		}
	}
	require.NotZero(t, failed)
}

// Damage to a file that was synced is an error, with the place, wherever it is.
func TestDamage(t *testing.T) {
	dir, l := t.TempDir(), newLedger(t)
	j := opened(t, dir, l, &Options{Compact: 1 << 30}, nil)
	for range 10 {
		l.commit(1)
		require.NoError(t, j.Sync(t.Context()))
	}
	require.NoError(t, j.Close())
	files, err := list(dir)
	require.NoError(t, err)
	name := journalName(files.journals[0])
	whole, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	mark := 0 // how long the last mark is
	for lastMark(whole[len(whole)-mark:], "") == 0 {
		mark++
	}
	try := func(data []byte) (*ledger, error) {
		to := copied(t, dir)
		require.NoError(t, os.WriteFile(filepath.Join(to, name), data, 0o600))
		l := newLedger(t)
		j, err := Open(t.Context(), l.DB, to, nil)
		if err == nil {
			require.NoError(t, j.Close())
		}
		return l, err
	}
	for range 200 {
		at, data := rand.IntN(len(whole)-mark), bytes.Clone(whole)
		data[at] ^= 1 << rand.IntN(8)
		_, err := try(data)
		var damage *DamageError
		require.ErrorAs(t, err, &damage)
		require.LessOrEqual(t, damage.Offset, int64(at))
	}
	require.NoError(t, os.Remove(filepath.Join(dir, backupName(files.backups[0]))))
	_, err = try(whole)
	require.ErrorContains(t, err, backupName(files.backups[0])+" is missing")
}
