//go:build !mvcccheck

package mvcc

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// In ordinary builds nothing is checked; see check_on.go.

func checkStep(w, t word) {}

func (c *core[K, V]) checkCopy(v *version[K, V], e epoch.Epoch)                 {}
func (c *core[K, V]) checkPush(h, base, v *version[K, V])                       {}
func (c *core[K, V]) checkNewest(v *version[K, V])                              {}
func (c *core[K, V]) checkCut(cur, first, n *version[K, V], view *gc.View)      {}
func (c *core[K, V]) checkRemove(h *version[K, V])                              {}
func (c *core[K, V]) checkNewestBegin(h *version[K, V]) (before *version[K, V]) { return nil }
func (c *core[K, V]) checkNewestEnd(before, v *version[K, V])                   {}
func (st *txState[K, V]) checkRead(gen epoch.Gen, key K, v *version[K, V])      {}
func (st *txState[K, V]) checkGet(key K, v *version[K, V])                      {}
func (st *txState[K, V]) checkCommit(gen epoch.Gen, e epoch.Epoch)              {}
func (st *txState[K, V]) checkTaken()                                           { _ = &st.idle }
func (st *txState[K, V]) checkGiven()                                           {}
