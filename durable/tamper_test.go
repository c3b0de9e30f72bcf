package durable

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A shop is a ledger with the other things that a journal may meet: texts with an index, of which
// the codec refuses some, and a table that is closed and made again with other types.
type shop struct {
	*ledger
	owner string
	texts *mvcc.Map[string, string]
	tmp   *mvcc.Map[int, string]
}

var shopCodec = poisoned(Gob, ways["panic"])

const remade = 20 // the commit after which tmp is made again

// newShop makes one. The tmp of a young one is of the first types.
func newShop(t testing.TB, owner string, young bool) *shop {
	s := &shop{ledger: newLedger(nil), owner: owner}
	s.texts = mvcc.NewTable[string, string](s.DB, "texts", nil)
	_, err := mvcc.NewIndex(s.texts, "owner", func(_, text string) []string {
		return []string{text[:1]}
	}, nil)
	require.NoError(t, err)
	if young {
		mvcc.NewTable[int, int](s.DB, "tmp", nil).Store(1, 1)
	} else {
		s.tmp = mvcc.NewTable[int, string](s.DB, "tmp", nil)
	}
	return s
}

func refusedText(n int) bool { return n%7 == 3 }

// sell makes commit number n, which has a text.
func (s *shop) sell() (n int) {
	n = s.commit(1)
	text := fmt.Sprint(s.owner, n)
	if refusedText(n) {
		text = poison
	}
	s.texts.Store(fmt.Sprint(n), text)
	if n == remade {
		old, _ := mvcc.Table[int, int](s.DB, "tmp")
		old.Close()
		s.tmp = mvcc.NewTable[int, string](s.DB, "tmp", nil)
		s.tmp.Store(1, s.owner)
	}
	return n
}

// verify checks that all is there up to commit sure, and nothing of another shop.
func (s *shop) verify(t testing.TB, sure int, what string) {
	t.Helper()
	n, err := s.check()
	require.NoError(t, err, what)
	require.GreaterOrEqual(t, n, sure, "%s: what was acknowledged is lost in silence", what)
	is, want := maps.Collect(s.texts.All()), map[string]string{}
	for i := 1; i <= n; i++ {
		if _, has := is[fmt.Sprint(i)]; !refusedText(i) && (has || i < n || i <= sure) {
			want[fmt.Sprint(i)] = fmt.Sprint(s.owner, i)
		}
	}
	require.Equal(t, want, is, what)
	require.Equal(t, map[int]string{1: s.owner}, maps.Collect(s.tmp.All()), what)
}

func (s *shop) open(t testing.TB, dir string, compact int64, create func(string) (file, error),
) (*Journal, error) {
	return open(t.Context(), s.DB, dir, &Options{Codec: shopCodec, Compact: compact, Every: -1, OnError: func(error) {}}, create, time.Millisecond)
}

// shopImages returns images of the folder of a shop in three lives: of each kind while it was
// written to, and after each Close.
func shopImages(t testing.TB, owner string, compact int64) (all []image) {
	dir, seen := t.TempDir(), map[string]bool{}
	var sure atomic.Int64
	create := func(path string) (file, error) {
		f, err := createFile(path)
		return &faulty{f, func(int) error {
			i, kind := imageOf(t, dir, int(sure.Load())), ""
			for _, name := range i.names() {
				kind += name[:1]
			}
			if i.sure > remade && strings.Contains(kind, "bj") && !seen[kind] {
				seen[kind] = true
				all = append(all, i)
			}
			return nil
		}}, err
	}
	for life := range 3 {
		s := newShop(t, owner, life == 0)
		j, err := s.open(t, dir, compact, create)
		require.NoError(t, err)
		if life > 0 {
			s.verify(t, int(sure.Load()), "another life")
		}
		for range 3 * remade / 2 {
			n := s.sell()
			if err := j.Sync(t.Context()); err != nil {
				require.ErrorAs(t, err, new(*CodecError))
			}
			sure.Store(int64(n))
		}
		s.texts.DeleteFunc(func(_, text string) bool { return text == poison })
		require.NoError(t, j.Close())
		s.Close()
		all = append(all, imageOf(t, dir, int(sure.Load())))
	}
	return all
}

func (i image) write(t testing.TB, dir string) {
	for name, data := range i.files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
}

// tries counts the outcomes for folders that somebody has tampered with.
type tries struct{ opened, refused int }

// try opens an image of shop A after somebody has tampered with its files. All that was
// acknowledged must be there, or the error names a file; then, with the files put back, all is
// there, for Open has destroyed nothing.
func (c *tries) try(t testing.TB, i image, what string, tamper func(dir string)) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	require.NoError(t, err)
	i.write(t, dir)
	tamper(dir)
	was := imageOf(t, dir, 0)
	info, infoErr := Inspect(dir)
	require.Equal(t, was, imageOf(t, dir, 0), what)
	again := func() error {
		s := newShop(t, "A", false)
		defer s.Close()
		j, err := s.open(t, dir, 0, createFile)
		if err == nil {
			s.verify(t, i.sure, what)
			if infoErr == nil && info.Err == nil {
				require.Equal(t, j.found.state.Epoch, info.Epoch, what)
			}
			for j.Sync(t.Context()) != nil { // the name of the next journal is taken
				time.Sleep(time.Millisecond)
			}
			require.NoError(t, j.Close())
		}
		return err
	}
	if err = again(); err == nil {
		require.NoError(t, infoErr, what)
		require.NoError(t, info.Err, what)
		c.opened++
		return
	}
	// A folder at the name of the lock is not damage.
	if !strings.Contains(err.Error(), lockName) && infoErr == nil {
		require.EqualError(t, fmt.Errorf("durable: %w", info.Err), err.Error(), what)
	}
	c.refused++
	require.Regexp(t, dir+"/(acknowledged|backup-|before|journal-|lock)", err.Error(), what)
	if c.refused%5 > 0 {
		return
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	i.write(t, dir)
	require.NoError(t, again(), "%s, and was put back", what)
}

// Whatever file is removed, cut, damaged, or put in the place of another: all that was acknowledged
// is there, or the error names a file.
func TestFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 2))
	var c tries
	all := shopImages(t, "A", 3000)
	for k, i := range all {
		var whole tries
		whole.try(t, i, "as it was", func(string) {})
		require.Equal(t, tries{opened: 1}, whole)
		names := i.names()
		change := func(what string, do func(files map[string][]byte)) {
			if rng.IntN(8) > 0 && (testing.Short() || k < len(all)-2) {
				return
			}
			changed := image{maps.Clone(i.files), i.sure}
			do(changed.files)
			c.try(t, i, fmt.Sprint(names, ": ", what), func(dir string) {
				for _, name := range names {
					require.NoError(t, os.Remove(filepath.Join(dir, name)))
				}
				changed.write(t, dir)
			})
		}
		targets := slices.Concat(names, []string{"elsewhere"})
		for _, n := range []uint64{0, 1, 2, 3, 9, 1<<51 - 1, math.MaxUint64} {
			targets = append(targets, backupName(n), journalName(n))
		}
		for _, name := range slices.Backward(names) { // the journals first
			data := i.files[name]
			c.try(t, i, name+" is a folder", func(dir string) {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
				require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
			})
			change("without "+name, func(f map[string][]byte) { delete(f, name) })
			begins := starts(data) // of records and groups
			for at := range data {
				near := at < 40 || at > len(data)-50
				if near && rng.IntN(3) == 0 || slices.Contains(begins, at) && rng.IntN(6) == 0 || rng.IntN(200) == 0 {
					change(fmt.Sprint(name, " is cut at ", at), func(f map[string][]byte) { f[name] = data[:at] })
					change(fmt.Sprint(name, " is flipped at ", at), func(f map[string][]byte) {
						f[name] = bytes.Clone(data)
						f[name][at] ^= 1 << rng.IntN(8)
					})
				}
			}
			for _, to := range targets {
				if to == name {
					continue
				}
				change(name+" is renamed to "+to, func(f map[string][]byte) {
					f[to] = f[name]
					delete(f, name)
				})
				change(name+" is copied to "+to, func(f map[string][]byte) { f[to] = f[name] })
				if i.files[to] != nil {
					change(name+" and "+to+" are swapped", func(f map[string][]byte) {
						f[to], f[name] = f[name], f[to]
					})
				}
			}
		}
	}
	require.Positive(t, c.opened)
	require.Positive(t, c.refused)
}

// starts returns where the records of a file begin.
func starts(data []byte) (list []int) {
	for at := range data {
		if tail := data[at:]; bytes.HasPrefix(tail, markMagic[:]) ||
			bytes.HasPrefix(tail, []byte("mvccmap\x02")) {
			list = append(list, at)
		}
	}
	return list
}

// A file of another folder, with the same name, and even the same epochs, is not taken for that of
// this one.
func TestForeignFiles(t *testing.T) {
	mine, other := shopImages(t, "A", 1<<40), shopImages(t, "B", 1<<40)
	var c tries
	for k, i := range mine { // how many there are depends on when files are begun
		for name, data := range other[min(k, len(other)-1)].files {
			c.try(t, i, fmt.Sprint(i.names(), ": ", name, " of another folder"), func(dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
			})
		}
	}
	require.Positive(t, c.opened)
	require.Positive(t, c.refused)
	// With no commits since the backup nothing but the database tells two folders apart.
	var dirs []string
	for _, owner := range []string{"A", "B"} {
		dir, s := t.TempDir(), newShop(t, owner, false)
		s.texts.Store("1", owner)
		j, err := s.open(t, dir, 0, createFile)
		require.NoError(t, err)
		require.NoError(t, j.Close())
		s.Close()
		dirs = append(dirs, dir)
	}
	data, err := os.ReadFile(filepath.Join(dirs[1], backupName(1)))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dirs[0], backupName(1)), data, 0o600))
	s := newShop(t, "A", false)
	defer s.Close()
	_, err = s.open(t, dirs[0], 0, createFile)
	require.ErrorContains(t, err, "it is of another database than "+backupName(1))
	require.ErrorContains(t, err, filepath.Join(dirs[0], journalName(1)))
	require.ErrorAs(t, err, new(*DamageError))
}

// A name of a journal whose number is too high is an error: else numbers would begin anew.
func TestNamesInTheWay(t *testing.T) {
	all := shopImages(t, "A", 3000)
	dir, s, name := t.TempDir(), newShop(t, "A", false), journalName(math.MaxUint64)
	defer s.Close()
	all[len(all)-1].write(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	_, err := s.open(t, dir, 0, createFile)
	require.ErrorContains(t, err, filepath.Join(dir, name))
}
