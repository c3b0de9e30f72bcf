package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/mvcctest"
)

// misusedOnTrial are programs whose tests use package mvcctest.
var misusedOnTrial = []misuses{
	{"With package `mvcctest`", []misuse{
		{"a function of `Merge` that returns something else each time",
			onTrial(func(f *failing, m *mvcc.Map[string, int]) {
				n := 0
				m.Merge("k", func(int, bool) int { n++; return n })
				m.Close()
			}), "so do the others of `Options.Strict`, and each says where in the program it was"},
		{"`s.Close` is missing", onTrial(func(f *failing, m *mvcc.Map[string, int]) {
			s := m.Snapshot()
			m.Close()
			f.Cleanup(func() { s.Get("k") })
		}), "and where that is"},
		{"`tx.Rollback` is missing", onTrial(func(f *failing, m *mvcc.Map[string, int]) {
			tx := m.Begin(nil)
			m.Close()
			f.Cleanup(func() { tx.Get("k") })
		}), "and where that is"},
		{"a `Watch` whose context goes on", onTrial(func(f *failing, m *mvcc.Map[string, int]) {
			watch := m.Watch(bg, nil)
			m.Close()
			f.Cleanup(func() { _ = watch })
		}), "and where that is"},
		{"`m.Close` is missing", onTrial(func(*failing, *mvcc.Map[string, int]) {}),
			"and where that is"},
	}},
}

// A failure is the first line of the message of a failed test.
type failure string

func (f failure) Error() string { return string(f) }

// A failing test notes how it fails.
type failing struct {
	testing.TB
	with     error
	cleanups []func()
}

func (f *failing) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }

func (f *failing) Errorf(format string, args ...any) {
	if first, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n"); f.with == nil {
		f.with = failure(first)
	}
}

// onTrial makes the program of a row whose map is on trial.
func onTrial(do func(f *failing, m *mvcc.Map[string, int])) func(*testing.T) error {
	return func(*testing.T) error {
		f := &failing{}
		do(f, mvcc.New[string, int](mvcctest.Options(f, nil)))
		for _, c := range slices.Backward(f.cleanups) {
			c()
		}
		return f.with
	}
}
