//go:build mvcccheck

package mvcc

import (
	"fmt"
	"iter"
	"math"
)

// The names of the keys 0, 1 and 2 of programs, and their values at one moment: 0 for an absent
// key.
var programKeys = [...]string{"a", "b", "c"}

type state [len(programKeys)]int

const unseen = -1

// An operation is a part of a program, and its results.
type operation struct {
	text    string
	kind    opKind
	level   *TxOptions
	alarmed bool // validation has an alarm from the first
	ordered bool // scans go by the order of the keys
	retry   bool // by Update
	key     int  // of one-key operations
	old     int  // the value a CompareAndSwap compares with
	id      int  // the value it writes; no two operations write the same
	acts    []act
	// The state of the map at the beginning, and its epoch.
	then  state
	since uint64

	started, ended int
	aborted        bool
	swapped        bool
	saw            state // unseen: not read
	count          int   // of all keys; unseen: not counted
	merged         state // the values its merges were given last; unseen: not merged
	failed         string
}

type opKind uint8

const (
	opLoad opKind = iota
	opStore
	opSwap
	opLoadOrStore
	opLoadAndDelete
	opDelete
	opCompareAndSwap
	opCompute
	opView
	opPast
	opUpdate
	opClear
	opIndex
	opFollow
	opHand
	opExpire
	opThin
	opRefuse
	opRest
	opGrow
	opShrink
	opPrune
	opRefresh
	opEnd // reads everything, without the map: the values in the end
)

// An act is a step of a transaction with one key, or all.
type act struct {
	do  byte // 'r'ead, read for 'u'pdate, 'w'rite, 'm'erge, 'd'elete, 's'can, 'p'refix, inde'x', 'l'en
	key int
}

var oneKeyKinds = map[string]opKind{
	"load": opLoad, "store": opStore, "swap": opSwap, "loadOrStore": opLoadOrStore,
	"loadAndDelete": opLoadAndDelete, "delete": opDelete, "cas": opCompareAndSwap,
	"compute": opCompute,
}

// bareKinds are the operations of one word.
var bareKinds = map[string]opKind{
	"prune": opPrune, "refresh": opRefresh, "clear": opClear,
	"index": opIndex, "follow": opFollow, "hand": opHand,
	"expire": opExpire, "thin": opThin, "refuse": opRefuse, "rest": opRest,
	"grow": opGrow, "shrink": opShrink,
}

// fresh returns a copy that has not been run.
func (o *operation) fresh() *operation {
	c := *o
	c.started, c.ended, c.aborted, c.swapped, c.failed = 0, 0, false, false, ""
	c.count = unseen
	for i := range c.saw {
		c.saw[i], c.merged[i] = unseen, unseen
	}
	return &c
}

func (o *operation) String() string {
	s := fmt.Sprintf("[%d,%d] %s (%d)", o.started, o.ended, o.text, o.id)
	for i, v := range o.saw {
		if v != unseen {
			s += fmt.Sprintf(" %s:%d", programKeys[i], v)
		}
	}
	if o.kind == opCompareAndSwap {
		s += fmt.Sprint(" swapped ", o.swapped)
	}
	if o.aborted {
		s += " aborted"
	}
	return s
}

// hasRead reports whether the operation looked at the map.
func (o *operation) hasRead() bool {
	for _, v := range o.saw {
		if v != unseen {
			return true
		}
	}
	return o.count != unseen
}

// writes reports whether the operation has written to key i, and returns the value.
func (o *operation) writes(i int) (value int, ok bool) {
	if o.aborted {
		return 0, false
	}
	switch o.kind {
	case opStore, opSwap, opCompute:
		return o.id, i == o.key
	case opLoadOrStore:
		return o.id, i == o.key && o.saw[i] == 0
	case opLoadAndDelete:
		return 0, i == o.key && o.saw[i] != 0
	case opDelete:
		return 0, i == o.key
	case opClear:
		return 0, true
	case opCompareAndSwap:
		return o.id, i == o.key && o.swapped
	case opUpdate:
		for _, a := range o.acts {
			switch {
			case (a.do == 'w' || a.do == 'm') && a.key == i:
				value, ok = o.id, true
			case a.do == 'd' && a.key == i:
				value, ok = 0, true
			}
		}
	}
	return value, ok
}

// note notes the value read of key i. A second read must see the same.
func (o *operation) note(i, value int, ok bool) {
	switch {
	case ok == (value == 0):
		o.failed = fmt.Sprintf("%s is %d, %v", programKeys[i], value, ok)
	case o.saw[i] != unseen && o.saw[i] != value:
		o.failed = fmt.Sprintf("read %s twice: %d, then %d", programKeys[i], o.saw[i], value)
	}
	o.saw[i] = value
}

// run performs the operation in w.
func (o *operation) run(w *world) {
	key, m := o.key, w.of[o.key]
	switch o.kind {
	case opLoad:
		value, ok := m.Load(key)
		o.note(o.key, value, ok)
	case opStore:
		m.Store(key, o.id)
	case opSwap:
		previous, ok := m.Swap(key, o.id)
		o.note(o.key, previous, ok)
	case opLoadOrStore:
		actual, loaded := m.LoadOrStore(key, o.id)
		if !loaded && actual != o.id {
			o.failed = fmt.Sprintf("stored %d, got %d", o.id, actual)
		}
		if !loaded {
			actual = 0
		}
		o.note(o.key, actual, loaded)
	case opLoadAndDelete:
		value, ok := m.LoadAndDelete(key)
		o.note(o.key, value, ok)
	case opDelete:
		m.Delete(key)
	case opCompareAndSwap:
		o.swapped = CompareAndSwap(m, key, o.old, o.id)
	case opCompute:
		m.Compute(key, func(old int, loaded bool) (int, ComputeOp) {
			o.saw[o.key] = unseen // each call begins anew
			o.note(o.key, old, loaded)
			return o.id, UpdateOp
		})
	case opView:
		at, end := w.snapshot()
		for _, a := range o.acts {
			o.read(w, at, a, nil)
		}
		end()
	case opPast:
		o.past(w)
	case opUpdate:
		o.update(w)
	case opClear:
		m.Clear()
	case opExpire:
		w.expire()
	case opThin:
		w.thin()
	case opRefuse:
		w.refuse()
	case opRest:
		w.rest()
	case opPrune:
		coreOf(m).gc.Refresh()
		view := coreOf(m).gc.View()
		for i, m := range w.of {
			if h := m.lookup(i); h.head != nil {
				coreOf(m).prune(h.at, h.head, view, math.MaxInt, math.MaxInt, new(found))
			}
		}
	case opIndex:
		w.buildIndex()
	case opFollow:
		w.follow()
	case opHand:
		w.hand()
	case opGrow:
		w.resize(2, 1)
	case opShrink:
		w.resize(1, 2)
	case opRefresh:
		coreOf(m).gc.Refresh()
	}
}

func (o *operation) past(w *world) {
	at, end, err := w.snapshotAt(o.since)
	if err != nil {
		return
	}
	defer end()
	for _, a := range o.acts {
		if value, ok := at(a.key).Get(a.key); value != o.then[a.key] || ok != (value != 0) {
			o.failed = fmt.Sprintf("%s as of the beginning is %d, %v", programKeys[a.key], value, ok)
		}
	}
}

func (o *operation) update(w *world) {
	body := func(in func(key int) Tx[int, int]) {
		own := map[int]int{}
		for _, a := range o.acts {
			switch a.do {
			case 'w':
				in(a.key).Set(a.key, o.id)
				own[a.key] = o.id
			case 'm':
				o.merge(in(a.key), a.key)
			case 'd':
				in(a.key).Delete(a.key)
				own[a.key] = 0
			default:
				o.read(w, func(key int) Reader[int, int] { return in(key) }, a, own)
			}
		}
	}
	if o.retry {
		err := w.update(&TxOptions{Isolation: o.level.Isolation, MaxAttempts: 2},
			func(in func(int) Tx[int, int]) {
				o.saw, o.count = (&operation{}).fresh().saw, unseen // each attempt begins anew
				body(in)
			})
		o.aborted = err != nil
		return
	}
	in, commit := w.begin(o.level, o.alarmed)
	body(in)
	o.aborted = commit() != nil
}

// merge merges key i, and notes the old value.
func (o *operation) merge(tx Tx[int, int], i int) {
	tx.Merge(i, func(old int, ok bool) int {
		if ok == (old == 0) {
			o.failed = fmt.Sprintf("%s is %d, %v in a merge", programKeys[i], old, ok)
		}
		o.merged[i] = old
		return o.id
	})
}

// read performs a reading act. own has the transaction's own writes.
func (o *operation) read(w *world, in func(key int) Reader[int, int], a act, own map[int]int) {
	see := func(i, value int, ok bool) {
		if mine, written := own[i]; !written {
			o.note(i, value, ok)
		} else if mine != value {
			o.failed = fmt.Sprintf("wrote %d to %s, and read %d", mine, programKeys[i], value)
		}
	}
	switch a.do {
	case 'l': // nothing is written yet
		o.count = in(a.key).(interface{ Len() int }).Len()
		return
	case 'r':
		value, ok := in(a.key).Get(a.key)
		see(a.key, value, ok)
		return
	case 'u':
		value, ok := in(a.key).(Tx[int, int]).GetForUpdate(a.key)
		see(a.key, value, ok)
		return
	}
	met := map[int]int{}
	last := len(programKeys) - 1
	if a.do == 'p' {
		last = a.key
	}
	for i := range last + 1 {
		if i > 0 && in(i) == in(i-1) {
			continue // the same map
		}
		all, ok := in(i).All(), false
		if a.do == 'x' {
			if all, ok = w.byIndex(in(i)); !ok {
				return
			}
		} else if o.ordered {
			all = in(i).(interface {
				Ascend(Range[int]) iter.Seq2[int, int]
			}).Ascend(UpTo(last))
		}
		for key, value := range all {
			if _, twice := met[key]; twice {
				o.failed = "met twice: " + programKeys[key]
			}
			met[key] = value
		}
	}
	for i := range last + 1 {
		value, ok := met[i]
		see(i, value, ok)
	}
}
