//go:build !mvcccheck

package mvcc

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// In ordinary builds nothing is checked; see check_chain_on.go.

func checkStep(w, t word) {}

func (c *resolver) checkCopy(v *node, e epoch.Epoch)            {}
func (c *resolver) checkOnTop(h, base, v *node)                 {}
func (c *resolver) checkNewest(v *node)                         {}
func (c *resolver) checkCut(cur, first, n *node, view *gc.View) {}
func (c *resolver) checkRemove(h *node)                         {}
func (c *resolver) checkNewestBegin(h *node) (before *node)     { return nil }
func (c *resolver) checkNewestEnd(before, v *node)              {}
