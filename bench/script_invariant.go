package bench

import (
	"fmt"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// beginInvariants notes what the invariants are about at first, and checks that they are true then.
func (r *scriptRig) beginInvariants() error {
	first := make([]int64, len(r.file.Invariants))
	err := r.runner.Do(true, func(tx TablesTx) error {
		for i := range r.file.Invariants {
			first[i] = r.aggregate(tx, r.file.Invariants[i].Left)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.first = first
	err = (&invariantAuditor{rig: r, session: r.runner, all: true}).do()
	if v, ok := err.(*violation); ok {
		return fmt.Errorf("%s at first, as the file has it: %s", "an invariant is not true", v.detail)
	}
	return err
}

// invariantAuditor checks the invariants of a file in a snapshot.
type invariantAuditor struct {
	rig     *scriptRig
	session TablesSession
	all     bool // those that are looked at when all is over, too
}

func (a *invariantAuditor) do() error {
	return a.session.Do(true, func(tx TablesTx) error {
		for i := range a.rig.file.Invariants {
			v := &a.rig.file.Invariants[i]
			if v.AtEnd && !a.all {
				continue
			}
			left, right := a.rig.aggregate(tx, v.Left), a.rig.first[i]
			switch {
			case v.Right != nil:
				right = a.rig.aggregate(tx, *v.Right)
			case v.Equals != nil:
				right = v.Equals.Eval(a.rig.config.Workload.fileVars())
			}
			if left != right {
				return wrong("", "invariant: %s: %d is not %d", v.Text, left, right)
			}
		}
		return nil
	})
}

func (r *scriptRig) aggregate(tx TablesTx, a workfile.Aggregate) (sum int64) {
	for _, table := range a.Tables {
		tx.All(table, func(_ RecordKey, record Record) {
			if a.Kind == workfile.Count {
				sum++
			} else {
				sum += record.Number
			}
		})
	}
	return sum
}
