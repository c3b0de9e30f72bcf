//go:build !mvcccheck

package chain

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// In ordinary builds nothing is checked; see check_chain_on.go.

func checkStep(w, t Word) {}

func (c *Resolver) CheckCopy(v *Node, e epoch.Epoch)            {}
func (c *Resolver) CheckOnTop(h, base, v *Node)                 {}
func (c *Resolver) CheckNewest(v *Node)                         {}
func (c *Resolver) CheckCut(cur, first, n *Node, view *gc.View) {}
func (c *Resolver) CheckRemove(h *Node)                         {}
func (c *Resolver) CheckNewestBegin(h *Node) (before *Node)     { return nil }
func (c *Resolver) CheckNewestEnd(before, v *Node)              {}
