// Package seam is how packages of this module reach in package mvcc what programs need not see.
package seam

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Snapshot returns an mvcc.DBSnapshot of an *mvcc.DB, that Options.MaxTxAge does not concern: for
// what is closed for sure. Package mvcc sets it.
var Snapshot func(db any) any

// Look, while somebody looks for lost attempts, is called at the beginning of each Update of a map or
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
