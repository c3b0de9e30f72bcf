// Package seam has what packages of this project share with package mvcc, and programs need not see.
// Package [github.com/mvccmap/mvccmap/internal/seam/door] is the way in.
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
	// Epoch is the one up to which all commits are kept, and Behind for how long something has
	// waited to be.
	Epoch  uint64
	Behind time.Duration
	// Failures counts failed writes, and Refused the records that the codec has refused.
	Failures, Refused uint64
}

// Look is called, while somebody looks for lost attempts, at the beginning of each Update of a map or
// database that has lost one since; of is the same for all tables of a database. tell is called by
// the same goroutine after each attempt, with an *mvcc.Attempt, and must not block. A commit by hand
// that is lost is told of as an attempt that began at no time. Package profiling sets it.
var Look atomic.Pointer[func(of uintptr) (tell func(attempt any))]

type caller struct{}

// Called returns ctx with the calls that led to the caller: for a watch that a goroutine of a library
// begins with it.
func Called(ctx context.Context) context.Context {
	pcs := make([]uintptr, 64)
	return context.WithValue(ctx, caller{}, pcs[:runtime.Callers(2, pcs)])
}

// Calls returns them, or nil.
func Calls(ctx context.Context) (pcs []uintptr) {
	pcs, _ = ctx.Value(caller{}).([]uintptr)
	return pcs
}
