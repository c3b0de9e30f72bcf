//go:build !mvcccheck

package chain

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// In ordinary builds nothing is checked; see check_on.go.

func checkStep(w, t Word) {}

// CheckCopy checks: e may be copied into v.
func (c *Resolver) CheckCopy(v *Node, e epoch.Epoch) {}

// CheckOnTop checks: v may be put on h.
func (c *Resolver) CheckOnTop(h, base, v *Node) {}

// CheckNewest checks: v was committed.
func (c *Resolver) CheckNewest(v *Node) {}

// CheckCut checks: the versions from first to n may be dropped from below cur.
func (c *Resolver) CheckCut(cur, first, n *Node, view *gc.View) {}

// CheckRemove checks: the key of h may leave the index.
func (c *Resolver) CheckRemove(h *Node) {}

// CheckNewestBegin returns the argument of CheckNewestEnd.
func (c *Resolver) CheckNewestBegin(h *Node) (before *Node) { return nil }

// CheckNewestEnd checks: v is not older than before.
func (c *Resolver) CheckNewestEnd(before, v *Node) {}
