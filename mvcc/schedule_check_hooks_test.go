//go:build mvcccheck

package mvcc

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// verdict returns the error in the results of an execution, or nil. One that was given up halfway
// has none.
func (x *execution) verdict() error {
	for i, p := range x.actors {
		if p.panic != nil {
			return fmt.Errorf("actor %c panicked: %v", 'a'+i, p.panic)
		}
	}
	if x.wrong != nil {
		return x.wrong
	}
	if x.end == nil {
		return nil
	}
	for _, o := range x.ops {
		if o.failed != "" {
			return fmt.Errorf("%s: %s", o.text, o.failed)
		}
		if o.aborted && !x.justified(o) {
			return fmt.Errorf("a conflict without a reason: %v", o)
		}
	}
	var history []*operation
	for _, o := range x.ops {
		if o.kind < opIndex {
			history = append(history, o)
		}
	}
	if !explained(append(history, x.end), x.initial) {
		return errors.New("no order of the operations explains what they returned")
	}
	return nil
}

// report describes an execution for whoever has to understand it.
func (x *execution) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "-scenario '%v' -schedule %s\ninitially %v\n", x.scenario, x.schedule(), x.initial)
	for _, o := range x.ops {
		fmt.Fprintln(&b, o)
	}
	if x.end != nil {
		fmt.Fprintln(&b, x.end)
	}
	for _, e := range x.events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// justified reports whether the aborted o may have had a conflict: another
// operation that it did not come after has written a key it read, or, at
// snapshot level, having read, a key it wrote. In a table with indexes a write is a read; and
// an index that is made is a reason.
func (x *execution) justified(o *operation) bool {
	indexes := x.w != nil && x.w.ix != nil
	if !o.hasRead() && !indexes {
		return false
	}
	for _, other := range x.ops {
		if other == o || other.ended < o.started {
			continue
		}
		if other.kind == opIndex {
			return true
		}
		for i := range programKeys {
			mine := o.saw[i] != unseen || o.count != unseen
			if o.level == snapshot || indexes {
				mine = mine && indexes
				for _, a := range o.acts {
					mine = mine || a.key == i && (indexes || strings.IndexByte("wdu", a.do) >= 0)
				}
			}
			if _, wrote := other.writes(i); wrote && mine {
				return true
			}
		}
	}
	return false
}

// inspect looks at the map when all actors have ended: its values, whether anything is left over,
// and whether pruning changes anything.
func (x *execution) inspect() {
	defer func() {
		if r := recover(); r != nil {
			x.wrong = fmt.Errorf("%v", r)
		}
	}()
	t := &finder{}
	if err := x.w.endFollow(); err != nil {
		x.wrong = err
		return
	}
	for _, m := range x.w.maps {
		checkQuiet(t, m)
	}
	if err := x.w.checkNotes(); err != nil {
		x.wrong = err
		return
	}
	x.end = (&operation{text: "in the end", kind: opEnd, started: x.clock + 1,
		ended: x.clock + 2}).fresh()
	x.end.started, x.end.ended = x.clock+1, x.clock+2
	look := func() {
		all := map[int]int{}
		for _, m := range x.w.maps {
			maps.Copy(all, contents(t, m))
		}
		for i := range programKeys {
			x.end.note(i, all[i], all[i] != 0)
		}
		require.Empty(t, x.end.failed)
	}
	look()
	if x.w.has {
		checkQuietCore[entry[int, int]](t, coreAt(x.w.ix.table))
		require.Equal(t, contents(t, x.w.maps[0]), maps.Collect(x.w.ix.Ascend(x.w.maps[0], Range[int]{})))
	}
	coreOf(x.w.of[0]).gc.Refresh()
	view := coreOf(x.w.of[0]).gc.View()
	for _, m := range x.w.maps {
		for _, h := range heads(m) {
			coreOf(m).prune(h.at, h.head, view, math.MaxInt, math.MaxInt, nil)
		}
	}
	look()
	for _, m := range x.w.maps {
		for _, h := range heads(m) {
			links := chainOf(m, chain.KeyOf[int](h.head))
			require.LessOrEqual(t, len(links), 1, "versions are left that nobody needs")
		}
	}
}

// A finder turns the failure of a check into a panic, to be told with the schedule that led to it.
type finder struct{ testing.TB }

type findings string

func (*finder) Helper()                      {}
func (*finder) Name() string                 { return "in the end" }
func (*finder) FailNow()                     {}
func (*finder) Errorf(f string, args ...any) { panic(findings(fmt.Sprintf(f, args...))) }

// explained reports whether there is an order of the operations, in agreement with real time, in
// which each returns its results. An operation happens at one moment; a transaction at snapshot
// level that has read and written reads at one moment and writes at a later one, and none of its
// keys is written in between. An aborted transaction has read, at one moment.
func explained(ops []*operation, initial state) bool {
	s := search{ops: ops, done: make([]bool, len(ops)), begun: make([]bool, len(ops)),
		dirty: make([]bool, len(ops))}
	return s.from(initial, len(ops))
}

type search struct {
	ops   []*operation
	done  []bool // it has happened
	begun []bool // it has read, and not yet written
	dirty []bool // one of its keys was written since
}

func (s *search) from(now state, left int) bool {
	if left == 0 {
		return true
	}
	for i, o := range s.ops {
		if s.done[i] || !s.mayBeNext(o) {
			continue
		}
		if !s.begun[i] && !o.sees(now) {
			continue
		}
		next, written := o.apply(now)
		if o.level == snapshot && o.hasRead() && written != 0 {
			if !s.begun[i] {
				s.begun[i], s.dirty[i] = true, false
				ok := s.from(now, left)
				s.begun[i] = false
				if ok {
					return true
				}
				continue
			}
			if s.dirty[i] {
				continue
			}
		}
		if !o.aborted && !o.replaces(now) {
			continue
		}
		soiled := s.soil(i, written)
		s.done[i] = true
		ok := s.from(next, left-1)
		s.done[i] = false
		for _, j := range soiled {
			s.dirty[j] = false
		}
		if ok {
			return true
		}
	}
	return false
}

// mayBeNext reports whether nothing that is left has ended before o started.
func (s *search) mayBeNext(o *operation) bool {
	for j, other := range s.ops {
		if !s.done[j] && other.ended < o.started {
			return false
		}
	}
	return true
}

// soil notes, of the operations between reading and writing, those that guard a key which operation
// i has written, and returns them.
func (s *search) soil(i int, written uint) (soiled []int) {
	for j, o := range s.ops {
		if j == i || !s.begun[j] || s.done[j] || s.dirty[j] {
			continue
		}
		if o.guarded()&written != 0 {
			s.dirty[j] = true
			soiled = append(soiled, j)
		}
	}
	return soiled
}

// guarded returns the keys that nobody may write between the reads and the writes of the operation,
// at level snapshot.
func (o *operation) guarded() (keys uint) {
	for _, a := range o.acts {
		if strings.IndexByte("wdu", a.do) >= 0 {
			keys |= 1 << a.key
		}
	}
	return keys
}

// replaces reports whether the operation's merges can have been given their old values in now.
func (o *operation) replaces(now state) bool {
	for i, was := range o.merged {
		if was != unseen && was != now[i] {
			return false
		}
	}
	return true
}

// sees reports whether the operation can have returned its results in now.
func (o *operation) sees(now state) bool {
	for i, saw := range o.saw {
		if saw != unseen && saw != now[i] {
			return false
		}
	}
	if o.count != unseen {
		n := 0
		for _, value := range now {
			n += count(value != 0)
		}
		if n != o.count {
			return false
		}
	}
	if o.kind == opCompareAndSwap {
		return o.swapped == (now[o.key] == o.old && o.old != 0)
	}
	return true
}

// apply returns the values of the keys after the operation, and which keys it wrote, as a set of
// bits.
func (o *operation) apply(now state) (next state, written uint) {
	for i := range now {
		if value, ok := o.writes(i); ok {
			now[i] = value
			written |= 1 << i
		}
	}
	return now, written
}
