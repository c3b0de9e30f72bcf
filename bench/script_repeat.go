package bench

import (
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// errRolledBack ends a transaction of which nothing stays.
var errRolledBack = errors.New("bench: rolled back")

// maxRepeats is how often steps are repeated at most in an attempt, all repeats together.
const maxRepeats = 100_000

// repeats has what was drawn in repeats: each attempt of a transaction has the same.
type repeats struct {
	drawn [][]int64 // by variable: what each time has drawn
	used  []int     // by variable: by how many times of this attempt
	left  int64     // how many times there may be yet in this attempt
}

// reset forgets what was drawn, for another transaction.
func (r *repeats) reset(op *workfile.Operation) {
	for len(r.drawn) < op.Repeated {
		r.drawn, r.used = append(r.drawn, nil), append(r.used, 0)
	}
	for i := range op.Repeated {
		r.drawn[i] = r.drawn[i][:0]
	}
}

// begin begins an attempt.
func (r *repeats) begin() {
	clear(r.used)
	r.left = maxRepeats
}

// repeat does the steps of a repeat.
func (t *scriptTask) repeat(tx TablesTx, s *workfile.Step) (ended bool, err error) {
	n := t.eval(s.Value)
	if t.repeats.left -= max(n, 0); t.repeats.left < 0 {
		return false, fmt.Errorf("operation %s, line %d: repeat %d; expected at most %d times, all repeats of "+
			"an operation together", t.op.Name, s.Line, n, maxRepeats)
	}
	for i := range n {
		if s.As >= 0 {
			t.vars[s.As] = i
		}
		t.bindAgain(s)
		if ended, err := t.steps(tx, s.Steps, nil); ended || err != nil {
			return ended, err
		}
	}
	return false, nil
}

// bindAgain draws the variables of a repeat, or takes what the attempt before has drawn.
func (t *scriptTask) bindAgain(s *workfile.Step) {
	for i := range s.Vars {
		list, used := &t.repeats.drawn[s.First+i], &t.repeats.used[s.First+i]
		if *used == len(*list) {
			*list = append(*list, t.draw(s.Vars[i].Draw))
		}
		t.vars[s.Vars[i].Slot] = (*list)[*used]
		*used++
	}
}
