// Package seam is how packages of this module reach in package mvcc what programs need not see.
package seam

import (
	"context"
	"runtime"
)

// Snapshot returns an mvcc.DBSnapshot of an *mvcc.DB, that Options.MaxTxAge does not concern: for
// what is closed for sure. Package mvcc sets it.
var Snapshot func(db any) any

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
