package linear

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// A state is what one key holds.
type state struct {
	known   bool // otherwise it may be anything
	present bool
	value   int64
}

var absent = state{known: true}

func holding(v int64) state { return state{known: true, present: true, value: v} }

// shows reports whether s may be seen as the value got if ok, and as absent
// otherwise.
func (s state) shows(got int64, ok bool) bool {
	return !s.known || s.present == ok && (!ok || s.value == got)
}

// sound reports whether what o returned makes sense in itself: without a value
// it is zero, but for LoadOrStore, which then returns what it stored.
func (o *Op) sound() bool {
	switch {
	case o.OK:
		return true
	case o.Kind == LoadOrStore:
		return o.Got == o.Arg
	}
	return o.Got == 0
}

// next returns what the key holds after o, and whether o may have returned what
// it did. A pending operation may return anything.
func (s state) next(o *Op) (state, bool) {
	seen := s
	if !s.known {
		seen = state{known: true, present: o.OK, value: o.Got}
	}
	fits := o.pending || s.shows(o.Got, o.OK) && o.sound()
	switch o.Kind {
	case Load, View:
		if o.pending {
			return s, true
		}
		return seen, fits
	case Store, Blind:
		return holding(o.Arg), true
	case Delete:
		return absent, true
	case Swap, Update:
		return holding(o.Arg), fits
	case LoadAndDelete:
		return absent, fits
	case LoadOrStore:
		switch {
		case o.pending && !s.known:
			return s, true
		case seen.present:
			return seen, fits
		}
		return holding(o.Arg), fits
	case CompareAndSwap:
		switch {
		case !s.known && (o.pending || !o.OK):
			return s, true // of all that it may hold, all but one value: not worth a state
		case !s.known, s.present && s.value == o.Old:
			return holding(o.Arg), o.pending || o.OK
		}
		return s, o.pending || !o.OK
	}
	return s, false
}

// model is a single key, for the checker.
func model(first state) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(s, in, _ any) (bool, any) {
			next, ok := s.(state).next(in.(*Op))
			return ok, next
		},
		DescribeOperation: func(in, _ any) string { return in.(*Op).String() },
		DescribeState: func(s any) string {
			switch s := s.(state); {
			case !s.known:
				return "unknown"
			case !s.present:
				return "absent"
			default:
				return fmt.Sprint(s.value)
			}
		},
	}
}

// operations translates ops for the checker.
func operations(ops []Op) []porcupine.Operation {
	list := make([]porcupine.Operation, len(ops))
	for i := range ops {
		o := &ops[i]
		list[i] = porcupine.Operation{ClientId: o.Worker, Input: o, Call: o.Call, Return: o.Return}
		if o.pending {
			list[i].Return = math.MaxInt64
		}
	}
	return list
}
