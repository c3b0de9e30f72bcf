// Package bars says where the transactional map must stand against what it is
// built from and what it replaces: each [Row] compares two sides and has a bar
// that must hold and an aim beyond it. The sides are ordinary code, measured by
// the Go benchmarks of this package (one side at a time) and by the command in
// internal/bars (alternated, with a verdict).
//
// Ratios are used because they mean the same on every machine.
package bars

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// A Row compares two sides.
type Row struct {
	Group string // what is measured, as in a benchmark's name: "load"
	Case  string // which case of it, as "goroutines=2"; may be empty
	What  string // one line

	Ours, Base Side

	// Kind says what is compared and which way is better.
	Kind Kind
	// Bar must hold and Aim is wanted: upper bounds of the ratio of ours to
	// the base, or lower bounds for a [Speed].
	Bar, Aim float64
	// MaxAllocs bounds the allocations of an operation of ours; negative
	// means that it is not looked at.
	MaxAllocs float64
}

// Name returns the row's name, as in a benchmark's.
func (r Row) Name() string {
	if r.Case == "" {
		return r.Group
	}
	return r.Group + "/" + r.Case
}

// Kind is what a [Row] compares.
type Kind int

// The kinds of rows.
const (
	Time   Kind = iota // time of an operation: the ratio must not exceed the bar
	Speed              // operations in a given time: the ratio must reach the bar
	Memory             // bytes: the ratio must not exceed the bar
)

// Met reports whether a ratio of ours to the base satisfies a bound.
func (k Kind) Met(ratio, bound float64) bool {
	if k == Speed {
		return ratio >= bound
	}
	return ratio <= bound
}

// Sign returns the sign between a ratio and its bound.
func (k Kind) Sign() string {
	if k == Speed {
		return "≥"
	}
	return "≤"
}

// A Side is one of the two sides of a row.
type Side struct {
	Name string // as in a benchmark's name: "mvcc", "xsync"

	// Open prepares what is measured.
	Open func() (Runner, error)
}

// A Runner is a side, ready to be measured.
type Runner interface {
	// Run performs n operations and returns the time they took, preparations
	// apart. What is weighed is filled, whatever n is.
	Run(ctx context.Context, n int) (took time.Duration, err error)
	// Close ends what runs in the background and reports what went wrong.
	Close() error
}

// A Weigher is a [Runner] of a [Memory] row.
type Weigher interface {
	// Bytes returns the bytes held after Run, for each key.
	Bytes() float64
}

// Options adjust the rows that have a size.
type Options struct {
	PathKeys   [2]int // keys of the rows of single calls; 0 means 10,000 and 1,000,000
	ScanKeys   int    // keys of a full scan; 0 means 1,000,000
	MemoryKeys int    // keys of a memory row; 0 means 1,000,000
}

// Rows returns all rows, in the order in which they are reported.
func Rows(o Options) []Row {
	o.PathKeys[0] = cmp.Or(o.PathKeys[0], 10_000)
	o.PathKeys[1] = cmp.Or(o.PathKeys[1], 1_000_000)
	o.ScanKeys = cmp.Or(o.ScanKeys, 1_000_000)
	o.MemoryKeys = cmp.Or(o.MemoryKeys, 1_000_000)
	var rows []Row
	rows = append(rows, pathRows(o.PathKeys)...)
	rows = append(rows, workloadRows()...)
	rows = append(rows, besideRows(o.ScanKeys)...)
	rows = append(rows, memoryRows(o.MemoryKeys)...)
	return rows
}

// parallel is a runner that shares its operations out among goroutines.
type parallel struct {
	goroutines int
	op         func(goroutine, n int) // performs n operations
	close      func()
}

func (p *parallel) Run(_ context.Context, n int) (time.Duration, error) {
	from := time.Now()
	if p.goroutines == 1 {
		p.op(0, n)
		return time.Since(from), nil
	}
	var wg sync.WaitGroup
	for g := range p.goroutines {
		share := n / p.goroutines
		if g < n%p.goroutines {
			share++
		}
		wg.Go(func() { p.op(g, share) })
	}
	wg.Wait()
	return time.Since(from), nil
}

func (p *parallel) Close() error {
	if p.close != nil {
		p.close()
	}
	return nil
}

func goroutines(n int) string { return fmt.Sprintf("goroutines=%d", n) }
