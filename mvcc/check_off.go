//go:build !mvcccheck

package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// In ordinary builds nothing is checked; see check_on.go.

func (p *part) checkRead(gen epoch.Gen, key unsafe.Pointer, v *chain.Node) {}
func (p *part) checkGet(key unsafe.Pointer, v *chain.Node)                 {}
func (st *txState) checkCommit(gen epoch.Gen, e epoch.Epoch)               {}
func (st *txState) checkTaken()                                            { _ = &st.idle }
func (st *txState) checkGiven()                                            {}
func (t *txn) checkRead(gen epoch.Gen, key unsafe.Pointer, v *chain.Node)  {}
