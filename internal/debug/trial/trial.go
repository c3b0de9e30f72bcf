// Package trial is the interface between package mvcctest and the maps of a test.
package trial

import (
	"context"
	"runtime"
	"time"
)

// A TestHooks has the wishes of a test for the maps and databases that are made with its
// options. Its functions may be called by any number of goroutines at once.
type TestHooks struct {
	// Conflicts is how many attempts of each Update conflict, but for the last one that it has.
	Conflicts int
	// Chance says whether another attempt, or a commit by hand, conflicts. If Chance is nil, no
	// other attempt does, and every eighth commit by hand does.
	Chance func() bool
	// Now is the time that records expire by.
	Now func() time.Time
	// Fail is told of a mistake, and of the calls of the program that led to it, innermost first.
	Fail func(mistake string, calls []runtime.Frame)
	// Made is told of each new map.
	Made func(s Subject)
}

// A Subject is a database, or a map by itself.
type Subject interface {
	// Step does the background work: records expire, watches are told, versions are reclaimed.
	Step(ctx context.Context) error
	// Expire is Step for the records that expire alone.
	Expire(ctx context.Context) error
	// End closes it and ends its watches, and returns the transactions that were open, or were
	// dropped without having been ended.
	End() []Left
}

// Left is something that was not ended.
type Left struct {
	What string // "a snapshot is open; it began"
	// Began are the calls of the program that began it, innermost first.
	Began []runtime.Frame
}

// Attach has maps made with options, an *mvcc.Options, be subjects of t. Package mvcc sets it.
var Attach func(options any, t *TestHooks)
