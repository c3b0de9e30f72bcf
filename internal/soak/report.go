package soak

import (
	"fmt"
	"slices"
	"time"
)

// Totals are what was checked.
type Totals struct {
	Rounds       int
	Transactions int // that committed, one-key operations outside of any included
	Operations   int // reads and writes in them
	Aborted      int // attempts that did not commit
	// pairs of transactions found to be ordered, among which cycles were looked for
	Dependencies int
	Audits       int           // full scans whose sum was checked
	Undecided    int           // keys whose operations could not be judged in time
	Violations   int           // rounds in which something was wrong
	Time         time.Duration // checking included
}

func (t *Totals) add(u Totals) {
	t.Rounds += u.Rounds
	t.Transactions += u.Transactions
	t.Operations += u.Operations
	t.Aborted += u.Aborted
	t.Dependencies += u.Dependencies
	t.Audits += u.Audits
	t.Undecided += u.Undecided
	t.Violations += u.Violations
	t.Time += u.Time
}

// KindTotals are the totals of a kind of check.
type KindTotals struct {
	Kind Kind
	Totals
}

// An Outcome is what became of a round.
type Outcome struct {
	Totals
	Violation *Violation // nil if all was well
	Note      string     // what else there is to say of it, in one line

	hung bool
}

// A Report is the outcome of all rounds.
type Report struct {
	Kinds      []KindTotals
	Violations []*Violation
	Rounds     int
	Elapsed    time.Duration
}

// Totals returns the totals over all kinds.
func (r *Report) Totals() (t Totals) {
	for _, k := range r.Kinds {
		t.add(k.Totals)
	}
	return t
}

func (r *Report) add(round Round, o Outcome) {
	r.Rounds++
	o.Rounds = 1
	if o.Violation != nil {
		o.Violations = 1
		r.Violations = append(r.Violations, o.Violation)
	}
	i := slices.IndexFunc(r.Kinds, func(k KindTotals) bool { return k.Kind == round.Kind })
	r.Kinds[i].add(o.Totals)
}

// Err returns an error that wraps all violations, or nil if there were none.
func (r *Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	return &Error{r.Violations}
}

// An Error says that something was violated.
type Error struct{ Violations []*Violation }

// Error names the first violation, and how many there were.
func (e *Error) Error() string {
	s := "verification violated: " + e.Violations[0].Error()
	if n := len(e.Violations) - 1; n > 0 {
		s += fmt.Sprintf(" (and in %d other rounds)", n)
	}
	return s
}
