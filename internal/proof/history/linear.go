package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// This file checks whether the operations on one key have an order that respects their
// times and explains the result of each. The search is porcupine's. It is enough to
// look at each key alone if operations and transactions touch only one: linearizability
// is local.

const notLinearizable = "not linearizable"

// A step is the use of one key by a transaction.
type step struct {
	tx      *Tx
	ops     []Op
	pending bool // it had not ended: its result means nothing
}

// A held is the contents of one key, as far as they are known.
type held struct {
	known bool
	Version
}

// next returns the contents of the key after s, and whether the result of s is
// possible.
func (h held) next(s *step) (held, bool) {
	now, wrote := h, false
	for _, op := range s.ops {
		found := Version{op.Value, op.Present}
		switch {
		case op.Kind.writes():
			now, wrote = held{true, Version{op.Value, op.Kind == OpWrite}}, true
		case s.pending:
		case op.Kind == OpOther:
			if now == (held{true, Version{op.Value, true}}) {
				return h, false
			}
		case now.known && now.Version != found:
			return h, false
		default:
			now = held{true, found}
			if !wrote {
				h = now
			}
		}
	}
	if s.tx.Status == StatusAborted {
		return h, true
	}
	return now, true
}

// model is a single key, for porcupine.
func model(first held) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(h, in, _ any) (bool, any) {
			next, ok := h.(held).next(in.(*step))
			return ok, next
		},
	}
}

// operations translates steps for porcupine.
func operations(steps []step) []porcupine.Operation {
	list := make([]porcupine.Operation, len(steps))
	for i := range steps {
		s := &steps[i]
		list[i] = porcupine.Operation{
			ClientId: s.tx.Process, Input: s, Call: s.tx.Begin, Return: s.tx.End,
		}
		if s.pending {
			list[i].Return = math.MaxInt64
		}
	}
	return list
}

// checkKeys looks for keys with operations that are not linearizable. That is hard in
// general: a key that takes longer than patience is undecided.
func checkKeys(h *History, patience time.Duration) *Report {
	r := &Report{history: h, Txs: committed(h)}
	decide := func(first held, steps []step) porcupine.CheckResult {
		return porcupine.CheckOperationsTimeout(model(first), operations(steps), patience)
	}
	keys := byKey(h)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		steps := keys[key]
		switch decide(held{known: true}, steps) {
		case porcupine.Unknown:
			r.Undecided++
		case porcupine.Illegal:
			steps = shrink(steps, func(first held, steps []step) bool {
				return decide(first, steps) == porcupine.Illegal
			})
			a := Anomaly{Name: notLinearizable, Key: key,
				Detail: fmt.Sprintf("%d operations have no order that explains what they found", len(steps))}
			for _, s := range steps {
				a.Txs = append(a.Txs, s.tx.ID)
			}
			r.Anomalies = append(r.Anomalies, a)
			return r
		}
	}
	return r
}

// byKey returns the steps of each key.
func byKey(h *History) map[int][]step {
	keys := map[int][]step{}
	for i := range h.Txs {
		tx := &h.Txs[i]
		for _, op := range tx.Ops {
			list := keys[op.Key]
			if n := len(list); n == 0 || list[n-1].tx != tx {
				list = append(list, step{tx: tx})
			}
			last := &list[len(list)-1]
			last.ops = append(last.ops, op)
			keys[op.Key] = list
		}
	}
	return keys
}

// maxSteps is in how many steps at most those are looked for that explain nothing.
const maxSteps = 2000

// shrink returns a short stretch of steps that no order explains. It ends with the first return
// that cannot be explained, and begins as late as it can.
func shrink(steps []step, illegal func(held, []step) bool) []step {
	first := held{known: true} // the known contents of the key before the stretch
	// The steps before a moment can be explained if all can.
	var ends []int64
	for _, s := range steps {
		ends = append(ends, s.tx.End)
	}
	slices.Sort(ends)
	i := sort.Search(len(ends)-1, func(i int) bool { return illegal(first, until(steps, ends[i])) })
	steps = until(steps, ends[i])
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.tx.Begin, b.tx.Begin) })

	// If all steps can be explained, so can those after a moment at which nothing runs, from some
	// state.
	cut := func() {
		cuts := quiescent(steps)
		n := sort.Search(len(cuts), func(i int) bool { return !illegal(held{}, steps[cuts[i]:]) })
		if n > 0 {
			first, steps = held{}, steps[cuts[n-1]:]
		}
	}
	cut()
	// A step that changes nothing only restricts the others.
	for n := len(steps) / 2; n > 0 && len(steps) <= maxSteps; n /= 2 {
		for i := 0; i < len(steps); {
			fewer := slices.Clone(steps[:i])
			for j := i; j < len(steps); j++ {
				if j >= i+n || slices.ContainsFunc(steps[j].ops, func(op Op) bool { return op.Kind.writes() }) {
					fewer = append(fewer, steps[j])
				}
			}
			if len(fewer) < len(steps) && illegal(first, fewer) {
				steps = fewer
			} else {
				i += n
			}
		}
	}
	cut()
	return steps
}

// until returns the steps that began before or at time t, as they stand at t.
func until(steps []step, t int64) (some []step) {
	for _, s := range steps {
		if s.tx.Begin <= t {
			s.pending = s.tx.End > t
			some = append(some, s)
		}
	}
	return some
}

// quiescent returns the indexes of steps, sorted by their begin, at which all steps before have
// ended.
func quiescent(steps []step) (cuts []int) {
	for i, end := 0, int64(-1); i < len(steps) && !steps[i].pending; i++ {
		if i > 0 && steps[i].tx.Begin > end {
			cuts = append(cuts, i)
		}
		end = max(end, steps[i].tx.End)
	}
	return cuts
}
