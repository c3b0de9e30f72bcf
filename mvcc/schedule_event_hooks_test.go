//go:build mvcccheck

package mvcc

import (
	"fmt"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// An event is one step of an actor: one access to shared memory, and the work of the actor by
// itself until its next one.
type event struct {
	actor  int
	kind   hooks.Access
	object int  // negative: a key of the index
	cell   bool // the object is a cell of a table that moves
	site   string
}

// Three more kinds: an operation starts, and ends; a bucket is moved, which changes cells.
const (
	startOp hooks.Access = 100 + iota
	endOp
	move
)

// noObject is the object of walks of the index, and of starts and ends.
const noObject = -1 << 30

// dependent reports whether the order of two events of different actors can make
// a difference. That one operation ended before another started does, to one that
// judges the results.
func dependent(a, b event) bool {
	switch {
	case a.kind == move:
		return b.inIndex()
	case b.kind == move:
		return a.inIndex()
	case a.kind >= startOp || b.kind >= startOp:
		return a.kind == startOp && b.kind == endOp || a.kind == endOp && b.kind == startOp
	case a.kind == hooks.Walk:
		return b.kind == hooks.Write && b.object < 0
	case b.kind == hooks.Walk:
		return a.kind == hooks.Write && a.object < 0
	}
	return a.object == b.object && (a.kind == hooks.Write || b.kind == hooks.Write)
}

// inIndex reports whether the event is an access to the index or a cell of it.
func (e event) inIndex() bool {
	return e.cell || e.kind == move || e.kind < startOp && e.object < 0
}

func (e event) String() string {
	kind := "?"
	switch e.kind {
	case hooks.Read:
		kind = "reads"
	case hooks.Write:
		kind = "writes"
	case hooks.Walk:
		kind = "walks"
	case startOp:
		return fmt.Sprintf("%c starts an operation", 'a'+e.actor)
	case endOp:
		return fmt.Sprintf("%c ends an operation", 'a'+e.actor)
	case move:
		return fmt.Sprintf("%c moves %s", 'a'+e.actor, e.site)
	}
	return fmt.Sprintf("%c %s #%d %s", 'a'+e.actor, kind, e.object, e.site)
}
