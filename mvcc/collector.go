package mvcc

import (
	"context"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A collector is the background work of a map, or of a database: a [gc.Reclaimer], whose type
// is hidden: the compiler compiles what it can reach from a map in each package that uses one, with
// all methods. Its methods are those of that. What is asked for each commit, views tell.
type collector struct{ _ byte }

type reclaimer = gc.Reclaimer[item, waiting]

// views holds the newest view.
type views = *atomic.Pointer[gc.View]

//go:noinline
func newCollector(cfg gc.Config[item, waiting]) (*collector, views) {
	r := gc.NewReclaimer(cfg)
	return (*collector)(unsafe.Pointer(r)), r.Views()
}

// reclaimerOf is for code without types alone.
func reclaimerOf(c *collector) *reclaimer { return (*reclaimer)(unsafe.Pointer(c)) }

//go:noinline
func (c *collector) Offer(i item) { reclaimerOf(c).Offer(i) }

//go:noinline
func (c *collector) Wake() { reclaimerOf(c).Wake() }

//go:noinline
func (c *collector) Go(f func()) bool { return reclaimerOf(c).Go(f) }

//go:noinline
func (c *collector) Stop() { reclaimerOf(c).Stop() }

//go:noinline
func (c *collector) Close() { reclaimerOf(c).Close() }

//go:noinline
func (c *collector) Closed() bool { return reclaimerOf(c).Closed() }

//go:noinline
func (c *collector) Manual() bool { return reclaimerOf(c).Manual() }

//go:noinline
func (c *collector) Reclaim(ctx context.Context) error { return reclaimerOf(c).Reclaim(ctx) }

//go:noinline
func (c *collector) RefreshPast(e epoch.Epoch, stride uint64) *gc.View {
	return reclaimerOf(c).RefreshPast(e, stride)
}
