// Package seam has the types and functions that packages of this project share with package mvcc,
// but programs need not see. Package [github.com/mvccmap/mvccmap/internal/seam/door] is the way in.
package seam

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Door returns the methods of an *mvcc.DB that package door names. Package mvcc sets it.
var Door func(db any) any

// A JournalState says how a journal is doing.
type JournalState struct {
	// Epoch is the epoch up to which all commits are kept. Behind is for how long something has
	// waited to be kept.
	Epoch  uint64
	Behind time.Duration
	// Failures counts failed writes, and Refused the records that the codec has refused.
	Failures, Refused uint64
}

// A Looker looks for lost attempts. Its functions must not block; of is the same for all tables of
// a database.
type Looker struct {
	// Lost is called when an Update of a map or database has lost an attempt. The same goroutine
	// calls tell with that attempt and each later one, an *mvcc.Attempt. A lost commit by hand is
	// told as an attempt that began at no time.
	Lost func(of uintptr) (tell func(attempt any))
	// Won is called when an Update has committed at its first attempt, if the map or database has
	// lost one since the look began; epoch is that of the commit.
	Won func(of uintptr, name string, epoch uint64)
}

// Look is the looker, nil while nobody looks. Package profiling sets it.
var Look atomic.Pointer[Looker]

type caller struct{}

// Called returns ctx with the calls that led to the caller of Called: for a watch that a goroutine
// of a library begins with ctx.
func Called(ctx context.Context) context.Context {
	pcs := make([]uintptr, 64)
	return context.WithValue(ctx, caller{}, pcs[:runtime.Callers(2, pcs)])
}

// Calls returns the calls that Called has put into ctx, or nil.
func Calls(ctx context.Context) (pcs []uintptr) {
	pcs, _ = ctx.Value(caller{}).([]uintptr)
	return pcs
}

// A Coroutine waits without a place in the program's block profile.
type Coroutine interface {
	// Await waits until cond is true. The coroutine calls it, and looks at cond after each Resume.
	Await(cond func() bool)
	// Resume never waits. Any goroutine may call it.
	Resume()
}
