package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type decodeFunc func(v any) error

func (f decodeFunc) Decode(v any) error { return f(v) }

// faults are the acts of a decoder instead of do.
var faults = map[string]func(do func() error) error{
	"error":  func(do func() error) error { return errors.Join(do(), errPoison) },
	"panic":  func(func() error) error { panic(errPoison) },
	"Goexit": func(func() error) error { runtime.Goexit(); return nil },
	"EOF":    func(func() error) error { return io.EOF },
	"twice":  func(do func() error) error { return errors.Join(do(), do()) },
}

// failsOnce is codec gob, but that call n of Decode has a fault.
func failsOnce(n int64, fault func(do func() error) error) (c Codec, calls *atomic.Int64) {
	c, calls = Gob, new(atomic.Int64)
	c.NewDecoder = func(r io.Reader) interface{ Decode(v any) error } {
		d := Gob.NewDecoder(r)
		return decodeFunc(func(v any) error {
			do := func() error { return d.Decode(v) }
			if calls.Add(1) == n {
				return fault(do)
			}
			return do()
		})
	}
	return c, calls
}

// A decoder that fails once, wherever that is: Open says so, or all is there; and with one that is
// as it should be all is there.
func TestDecoderFailsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	i := shopImages(t, "A", 3000)[0]
	for name, fault := range faults {
		for n := int64(1); ; n += 1 + rng.Int64N(40) {
			what, dir := fmt.Sprint(name, " in call ", n), t.TempDir()
			i.write(t, dir)
			c, calls := failsOnce(n, fault)
			s := newShop(t, "A", false)
			var j *Journal
			err := errPoison
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { _ = recover() }()
				j, err = Open(t.Context(), s.DB, dir, &Options{Codec: c, OnError: func(error) {}})
			}()
			<-ended
			if err == nil {
				s.verify(t, i.sure, what)
				if j.Close() != nil { // the check of a key has failed, in the backup
					dir = filepath.Join(dir, beforeName)
				}
			} else if !errors.Is(err, errPoison) {
				require.Regexp(t, dir+"/(backup|journal)-", err.Error(), what)
			}
			s.Close()
			s = newShop(t, "A", false)
			j, err = s.open(t, dir, 0, createFile)
			require.NoError(t, err, what)
			s.verify(t, i.sure, what)
			require.NoError(t, j.Close())
			s.Close()
			if calls.Load() < n {
				break
			}
		}
	}
}

// A fragile file fails where the disk does, also in Close.
type fragile struct{ *faulty }

func (f fragile) Close() error { return errors.Join(f.file.Close(), f.before(-1)) }

// The disk fails once, or some times, in whatever is done with a journal: nothing that was
// acknowledged is lost, at that moment, or later.
func TestDiskFailsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	broken := errors.New("broken")
	for _, times := range []int{1, 3} {
		for first, over := 1, false; !over; first += 1 + rng.IntN(25) {
			what, dir, l := fmt.Sprint(times, " times from ", first), t.TempDir(), newLedger(nil)
			var mu sync.Mutex
			var sure atomic.Int64
			var crashes []image
			now := 0
			fails := func(int) error {
				mu.Lock()
				defer mu.Unlock()
				if now++; now < first || now >= first+times {
					return nil
				}
				crashes = append(crashes, imageOf(t, dir, int(sure.Load())))
				return broken
			}
			j, err := open(t.Context(), l.DB, dir, &Options{Compact: 2000, Every: -1, OnError: func(error) {}},
				func(path string) (file, error) {
					if err := fails(0); err != nil {
						return nil, err
					}
					f, err := createFile(path)
					return fragile{&faulty{f, fails}}, err
				}, time.Microsecond)
			for range 30 {
				if err != nil {
					break // Open has failed
				}
				n := l.commit(1)
				if err := j.Sync(t.Context()); err == nil {
					sure.Store(int64(n))
				} else {
					require.ErrorIs(t, err, broken, what)
					require.NotErrorIs(t, err, context.Canceled, what)
				}
			}
			if err == nil && j.Close() == nil {
				sure.Store(30)
			}
			over = now < first
			l.Close()
			for _, i := range append(crashes, imageOf(t, dir, int(sure.Load()))) {
				to, l := t.TempDir(), newLedger(nil)
				i.write(t, to)
				j, err := Open(t.Context(), l.DB, to, nil)
				require.NoError(t, err, what)
				l.must(t, i.sure, true)
				require.NoError(t, j.Close())
				l.Close()
			}
		}
	}
}
