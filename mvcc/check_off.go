//go:build !mvcccheck

package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// In ordinary builds nothing is checked; see check_on.go.

func checkStep(w, t word) {}

func (c *chains) checkCopy(v *node, e epoch.Epoch)                   {}
func (c *chains) checkOnTop(h, base, v *node)                        {}
func (c *chains) checkNewest(v *node)                                {}
func (c *chains) checkCut(cur, first, n *node, view *gc.View)        {}
func (c *chains) checkRemove(h *node)                                {}
func (c *chains) checkNewestBegin(h *node) (before *node)            { return nil }
func (c *chains) checkNewestEnd(before, v *node)                     {}
func (p *part) checkRead(gen epoch.Gen, key unsafe.Pointer, v *node) {}
func (p *part) checkGet(key unsafe.Pointer, v *node)                 {}
func (st *txState) checkCommit(gen epoch.Gen, e epoch.Epoch)         {}
func (st *txState) checkTaken()                                      { _ = &st.idle }
func (st *txState) checkGiven()                                      {}
func (t *txn) checkRead(gen epoch.Gen, key unsafe.Pointer, v *node)  {}
