package mvcctest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/mvcctest"
)

// A printer is a test that prints the first line of each failure.
type printer struct {
	testing.TB
	cleanups []func()
}

func (p *printer) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

func (p *printer) Errorf(format string, args ...any) {
	first, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	fmt.Println(first)
}

func (p *printer) end() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}

// A sum that a function of Update does not set anew is twice the right one.
func Example() {
	var t testing.TB = &printer{} // in a test it is the test's own
	m := mvcc.New[string, int](mvcctest.Options(t, nil))
	defer m.Close()
	m.Store("ada", 10)

	sum := 0 // should be set in the function
	_ = m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		ada, _ := tx.Get("ada")
		tx.Set("ada", ada+1)
		sum += ada
		return nil
	})
	fmt.Println(sum)
	// Output: 20
}

// An open transaction at the end fails the test. The failure goes on with where it began.
func ExampleOptions() {
	t := &printer{}
	m := mvcc.New[string, int](mvcctest.Options(t, nil))
	s := m.Snapshot()
	called := 0
	m.Merge("ada", func(old int, _ bool) int {
		called++ // should not matter
		return old + called
	})
	s.Get("ada")
	m.Close()
	t.end() // s.Close is missing
	// Output:
	// mvcctest: the function of a Merge returns 1, and 2 for the same arguments
	// mvcctest: at the end of the test: a snapshot is open; it began
}

// With a chance of 1 each transaction that could conflict does: a test sees the program give up.
func ExampleConfig() {
	t := &printer{}
	m := mvcc.New[string, int](mvcctest.Options(t, &mvcctest.Config{Chance: 1}))
	defer m.Close()
	err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		ada, _ := tx.Get("ada")
		tx.Set("ada", ada+1)
		return nil
	})
	var conflict *mvcc.ConflictError
	fmt.Println(errors.As(err, &conflict), conflict.Key, conflict.Attempts)
	// Output: true ada 100
}
