package mvcc

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

func next(t *testing.T, s *Sequence[string]) uint64 {
	t.Helper()
	n, err := s.Next()
	require.NoError(t, err)
	return n
}

// Each number is given out once, to each goroutine in order, by several sequences of one key, while
// some of it is given back.
func TestSequence(t *testing.T) {
	for _, size := range []uint64{1, 3, 0} {
		m := newMap[string, uint64](t, nil)
		of := []*Sequence[string]{NewSequence(m, "k", size), NewSequence(m, "k", size)}
		const goroutines, each = 16, 500
		var mu sync.Mutex
		var all []uint64
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				var own []uint64
				for i := range each {
					n, err := of[g%2].Next()
					if err == nil {
						own = append(own, n)
					}
					if i%50 == g {
						err = errors.Join(err, of[g%2].Release())
					}
					if err != nil {
						t.Error(err)
						return
					}
					if i%10 == 0 {
						runtime.Gosched()
					}
				}
				if !slices.IsSorted(own) {
					t.Errorf("not in order: %v", own)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, own...)
			})
		}
		wg.Wait()
		slices.Sort(all)
		require.Len(t, slices.Compact(all), goroutines*each)
		record, _ := m.Load("k")
		require.GreaterOrEqual(t, record, all[len(all)-1])
		require.NotZero(t, all[0])
	}
}

// A number is reserved before it is drawn: a commit that uses it comes after the one that reserves
// it, and a process that begins with the kept records gives out others.
func TestSequenceReservesFirst(t *testing.T) {
	db := newDB(t, nil)
	numbers := NewTable[string, uint64](db, "numbers", nil)
	users := NewTable[uint64, string](db, "users", nil)
	ids := NewSequence(numbers, "users", 10)
	ctx, stop := context.WithCancel(bg)
	defer stop()
	watch := db.Watch(ctx, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if err := db.Update(bg, nil, func(tx DBTx) error {
					id, err := ids.Next()
					users.In(tx).Set(id, "somebody")
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 400, users.Len())
	reserved, met := uint64(0), 0
	for c, err := range watch {
		require.NoError(t, err)
		for _, change := range numbers.Changes(c) {
			reserved = change.New
		}
		for _, change := range users.Changes(c) {
			require.LessOrEqual(t, change.Key, reserved)
			met++
		}
		if met == 400 {
			break
		}
	}

	highest := uint64(0)
	for id := range users.All() {
		highest = max(highest, id)
	}
	require.Greater(t, next(t, NewSequence(numbers, "users", 10)), highest)
}

// Released numbers are given out next, unless somebody has reserved more; a record that was deleted
// brings no number back.
func TestSequenceRelease(t *testing.T) {
	m := newMap[string, uint64](t, nil)
	m.Store("k", 41)
	s := NewSequence(m, "k", 100)
	require.NoError(t, s.Release())
	requireValue(t, uint64(41))(m.Load("k"))
	require.EqualValues(t, 42, next(t, s))
	requireValue(t, uint64(141))(m.Load("k"))
	require.NoError(t, s.Release())
	requireValue(t, uint64(42))(m.Load("k"))
	require.NoError(t, s.Release())
	require.EqualValues(t, 43, next(t, s))

	other := NewSequence(m, "k", 100)
	require.EqualValues(t, 143, next(t, other))
	require.NoError(t, s.Release())
	requireValue(t, uint64(242))(m.Load("k"))
	require.EqualValues(t, 243, next(t, s))
	require.EqualValues(t, 144, next(t, other))

	m.Delete("k")
	require.EqualValues(t, 343, next(t, s))
	require.EqualValues(t, 443, next(t, other))
}

// A reservation that fails draws no number, and the next call tries again; there is an end below
// 1<<63.
func TestSequenceErrors(t *testing.T) {
	require.PanicsWithValue(t, errZeroMap, func() { NewSequence(new(Map[string, uint64]), "k", 0) })
	db := newDB(t, nil)
	m := NewTable[string, uint64](db, "m", nil)
	s := NewSequence(m, "k", 5)
	m.Store("k", math.MaxInt64-7)
	for want := range uint64(5) {
		require.Equal(t, math.MaxInt64-6+want, next(t, s))
	}
	for range 10 {
		_, err := s.Next()
		require.ErrorContains(t, err, "no block of 5 numbers is left above 9223372036854775805")
	}
	huge := NewSequence(m, "k", math.MaxUint64)
	_, err := huge.Next()
	require.ErrorContains(t, err, "no block of 18446744073709551615 numbers")

	one, err := NewIndex(m, "one", func(string, uint64) []int { return []int{1} }, &IndexOptions{Unique: true})
	require.NoError(t, err)
	other := NewSequence(m, "other", 2)
	var refused *UniqueError
	for range 3 {
		_, err = other.Next()
		require.ErrorAs(t, err, &refused)
	}
	one.drop()
	require.EqualValues(t, 1, next(t, other))
	require.EqualValues(t, 2, next(t, other))
}

// A number that is drawn while a Release is under way is not given back.
func TestSequenceDrawsBesideRelease(t *testing.T) {
	var beside func()
	m := newMap[string, uint64](t, &Options{
		Around: func(ctx context.Context, _, _ string) (context.Context, func()) {
			if beside != nil {
				beside()
			}
			return ctx, nil
		}})
	s := NewSequence(m, "k", 100)
	require.EqualValues(t, 1, next(t, s))
	drawn := make(chan uint64, 1)
	beside = func() {
		beside = nil
		now := s.now.Load()
		at := now.drawn.Load()
		go func() {
			n, _ := s.Next()
			drawn <- n
		}()
		// It has a number, or finds none and waits for the Release.
		stage.Eventually(t, func() bool { return now.drawn.Load() != at }, "it does not draw")
	}
	require.NoError(t, s.Release())
	n := <-drawn
	require.NotZero(t, n)
	for range 10 {
		require.NotEqual(t, n, next(t, s))
	}
}
