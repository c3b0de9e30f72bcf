// Package record models the record of a transaction of several keys: a word of its owner's
// slot, which decides about one transaction after the other.
//
// A version says where its transaction stands, or "indirect": ask the record of my slot.
// The modelled steps, and where their code is; every line is one atomic access:
//
//	mvcc.(*txState).begin, try   floor = clock        a try again is a transaction of its own
//	                             record = active
//	install                      version = indirect   here others may meet it; or a conflict
//	try                          active -> announced(floor)
//	decide                       load the record
//	                             draw e from the clock
//	                             announced -> committed(e), or tentative(e) if it validates
//	                             tentative(e) -> committed(e), or aborted
//	withdraw                     -> aborted
//	chain.(*Node).PutOutcome     version = the outcome; then the slot serves the next one
//
//	chain.(*Resolver).Resolve    load the version: indirect; load the record; load the
//	                             version again: if it has changed, from the beginning
//	(*Decider).Decide, a reader at S
//	                             committed(e) or tentative(e), e > S; active, aborted: go on
//	                             announced: help; tentative(e), e <= S: revoke; look again
//	(*Decider).Help              draw e; announced -> committed(e), or tentative(e)
//	(*Decider).Revoke            tentative(e) -> announced(e)
//	(*Decider).DecidedBase       announced without validation: help; else abortRival
//	(*Decider).abortRival        announced: draw; then -> aborted
//
// Readers and rivals may sleep between any two steps, for several transactions. One version stands
// for all that a transaction has: a reader's answer about it is compared with the true outcome of
// the transaction. Validation is a choice. Chains, and signs of life, are not modelled;
// mvcc/schedule_*_test.go runs the code itself. But with rivals that test bounds preemptions, and a
// slot serves two transactions there. Here are all interleavings of three transactions, with a
// reader and a rival that sleep over them, and from each state every process ends by itself.
package record

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/internal/proof/model/explore"
)

// A Fault is a mistake in the protocol.
type Fault string

// Faults are those that the exploration must find.
var Faults = []Fault{
	noFloor, keepsFloor, noDraw, revokesToFloor, helperDrawsFirst, looksOnce,
	freedEarly, abortStays, skipsAnnounced, skipsTentative,
}

const (
	noFloor          Fault = "all announced words are the same"
	keepsFloor       Fault = "one that tries again has the floor that it had"
	noDraw           Fault = "an announced record is aborted without a draw"
	revokesToFloor   Fault = "a revoked record does not carry the epoch that was revoked"
	helperDrawsFirst Fault = "a helper draws before it loads the record"
	looksOnce        Fault = "the version is not loaded again after the record"
	freedEarly       Fault = "the slot serves another before the versions have the outcome"
	abortStays       Fault = "that it was aborted is not put into the versions"
	skipsAnnounced   Fault = "a reader passes over an announced transaction"
	skipsTentative   Fault = "a reader passes over any tentative transaction"
)

const (
	maxTx    = 4
	maxProcs = 5
)

// A Scenario has an owner and its transactions, each with a letter: v if it validates, b if
// not. Others meet them: readers and rivals.
type Scenario struct {
	Tx              string
	Readers, Rivals int
	Fault           Fault
}

// The clock, the record of the slot, a version of each transaction, and the processes:
// first the owner.
type state struct {
	clock   uint8
	record  word
	version [maxTx]word
	proc    [maxProcs]proc

	// Not in the code: the fate of each transaction, the clock when the last one was
	// announced, and the fault.
	truth [maxTx]word
	since uint8
	wrong string
}

// A proc is the owner, in transaction tx; or a reader or rival that looks at the version of tx.
type proc struct {
	pc, tx, e  uint8
	s          uint8 // the owner's floor, a reader's read epoch
	w          word  // its last load
	late       word  // freedEarly
	waits, saw bool  // a reader's answer, until the right one is known
}

// The next access, and its name.
const (
	start uint8 = iota
	activate
	install
	announce
	loadRecord
	draw
	put
	publish
	withdraw
	settle
	find
	loadVersion
	loadAgain
	revoke
	drawToAbort
	abort
	done
)

var names = strings.Split("load the clock,activate,install,announce,load the record,draw,"+
	"put in an epoch,commit,withdraw,settle,find a version,load the version,"+
	"load the version again,revoke,draw to abort,abort", ",")

const (
	early      = "I2: committed at an epoch drawn before it was announced"
	misread    = "a reader has taken a transaction for what it is not"
	mistaken   = "a rival has taken a transaction for what it is not"
	missettled = "the outcome in a version is not that of its transaction"
)

// Model is a scenario to explore.
type Model struct{ Scenario }

// Initial has a slot that has never been used.
func (m Model) Initial() state {
	s := state{clock: 1, record: word{tag: aborted}}
	for i := 1 + m.Readers; i < maxProcs; i++ {
		s.proc[i].pc = find
	}
	return s
}

// Processes counts the owner, the readers and the rivals.
func (m Model) Processes() int { return 1 + m.Readers + m.Rivals }

func (m Model) reads(p int) bool { return 0 < p && p <= m.Readers }

// Name names a process.
func (m Model) Name(p int) string {
	switch {
	case p == 0:
		return "owner"
	case m.reads(p):
		return fmt.Sprint("reader ", p)
	}
	return fmt.Sprint("rival ", p-m.Readers)
}

// Finished reports whether process p is done.
func (m Model) Finished(s *state, p int) bool { return s.proc[p].pc == done }

// Moves makes the next step of process p.
func (m Model) Moves(s *state, p int, yield func(string, *state)) {
	n := *s
	switch pc := s.proc[p].pc; {
	case p > 0:
		m.stepMeeting(&n, &n.proc[p], m.reads(p))
	case pc == install: // or not: there is a conflict
		n.proc[p].pc = withdraw
		yield("conflict", &n)
		n = *s
		m.stepOwner(&n, &n.proc[p])
	case pc == publish: // or not: it is not valid
		m.put(&n, &n.proc[p], word{tag: aborted}, loadRecord)
		yield("not valid", &n)
		n = *s
		m.stepOwner(&n, &n.proc[p])
	default:
		m.stepOwner(&n, &n.proc[p])
	}
	yield(names[s.proc[p].pc], &n)
}

// put is a compare-and-swap of the record from the last load of o. o forgets that.
func (m Model) put(n *state, o *proc, to word, next uint8) bool {
	from := o.w
	o.w, o.e, o.pc = word{}, 0, next
	if n.record != from {
		return false
	}
	n.record = to
	switch to.tag {
	case announced:
		if from.tag == active {
			n.since = n.clock
		}
		return true
	case tentative, committed:
		if to.e <= n.since {
			n.wrong = early
		}
	}
	if to.tag != tentative {
		tx := n.proc[0].tx
		n.truth[tx] = to
		for i := range n.proc {
			if r := &n.proc[i]; r.waits && r.tx == tx {
				m.judge(n, r)
			}
		}
	}
	return true
}

// judge compares a reader's answer with the fate of the transaction.
func (m Model) judge(n *state, r *proc) {
	if r.saw != n.truth[r.tx].seenAt(r.s) {
		n.wrong = misread
	}
	*r = proc{pc: done}
}

func (n *state) drawEpoch(o *proc, next uint8) {
	n.clock++
	o.e, o.pc = n.clock, next
}

// stepOwner makes the next step of the owner.
func (m Model) stepOwner(n *state, o *proc) {
	switch o.pc {
	case start:
		again := o.tx > 0 && n.truth[o.tx-1].tag == aborted
		if m.Fault != noFloor && (m.Fault != keepsFloor || !again) {
			o.s = n.clock
		}
		o.pc = activate
	case activate:
		n.record, n.since, o.pc = word{tag: active}, 0, install
	case install:
		if o.late.tag != private {
			n.version[o.tx-1], o.late = o.late, word{}
		}
		n.version[o.tx], o.pc = word{tag: indirect}, announce
	case announce:
		o.w = word{tag: active}
		if !m.put(n, o, word{announced, o.s, m.Tx[o.tx] == 'v'}, loadRecord) {
			o.pc = withdraw
		}
	case loadRecord:
		o.w = n.record
		o.pc = settle
		switch o.w.tag {
		case announced:
			o.pc = draw
		case tentative:
			o.pc = publish
		}
	case draw:
		n.drawEpoch(o, put)
	case put:
		if d := o.w.decided(o.e); m.put(n, o, d, loadRecord) && d.tag == committed {
			o.w, o.pc = d, settle
		}
	case publish:
		m.put(n, o, word{tag: committed, e: o.w.e}, loadRecord)
	case withdraw:
		o.w = word{tag: active}
		m.put(n, o, word{tag: aborted}, settle)
		o.w = word{tag: aborted}
	case settle:
		if o.w != n.truth[o.tx] {
			n.wrong = missettled
		}
		next := proc{tx: o.tx + 1, s: o.s}
		switch {
		case n.version[o.tx].tag == private || m.Fault == abortStays && o.w.tag == aborted:
		case m.Fault == freedEarly && int(next.tx) < len(m.Tx):
			next.late = o.w
		default:
			n.version[o.tx] = o.w
		}
		if *o = next; int(o.tx) == len(m.Tx) {
			*o = proc{pc: done}
		}
	}
}

// stepMeeting makes the next step of a reader or rival. A rival looks once.
func (m Model) stepMeeting(n *state, o *proc, reads bool) {
	again := done
	if reads {
		again = loadVersion
	}
	switch o.pc {
	case start:
		o.s, o.pc = n.clock, find
	case find:
		o.pc = done
		for tx, v := range n.version {
			if v.tag != private {
				o.tx, o.pc = uint8(tx), loadVersion
			}
		}
		if o.pc == loadVersion { // now: in between it can only be settled
			m.stepMeeting(n, o, reads)
		}
	case loadVersion:
		o.pc = loadRecord
		if v := n.version[o.tx]; v.tag != indirect {
			m.decideNext(n, o, v, reads)
		} else if m.Fault == helperDrawsFirst {
			o.pc = draw
		}
	case loadRecord:
		o.w, o.pc = n.record, loadAgain
		if m.Fault == looksOnce {
			m.decideNext(n, o, o.w, reads)
		}
	case loadAgain:
		if n.version[o.tx].tag == indirect {
			m.decideNext(n, o, o.w, reads)
		} else {
			o.w, o.e, o.pc = word{}, 0, loadVersion
		}
	case draw:
		n.drawEpoch(o, put)
		if m.Fault == helperDrawsFirst {
			o.pc = loadRecord
		}
	case put:
		m.put(n, o, o.w.decided(o.e), again)
	case revoke:
		floor := o.w.e
		if m.Fault == revokesToFloor {
			floor = n.proc[0].s
		}
		m.put(n, o, word{announced, floor, true}, again)
	case drawToAbort:
		n.drawEpoch(o, abort)
	case abort:
		m.put(n, o, word{tag: aborted}, again)
	}
	if o.pc == done && !o.waits {
		*o = proc{pc: done}
	}
}

// decideNext decides on the next step about a transaction in state w.
func (m Model) decideNext(n *state, o *proc, w word, reads bool) {
	switch {
	case w.tag == announced && !reads && w.check:
		o.pc = drawToAbort
		if m.Fault == noDraw {
			o.pc = abort
		}
	case w.tag == announced && !(reads && m.Fault == skipsAnnounced):
		o.pc = draw
		if m.Fault == helperDrawsFirst {
			o.pc = put
		}
	case reads && w.tag == tentative && w.e <= o.s && m.Fault != skipsTentative:
		o.pc = revoke
	case reads:
		*o = proc{pc: done, tx: o.tx, s: o.s, waits: true, saw: w.seenAt(o.s)}
		if n.truth[o.tx].tag != private {
			m.judge(n, o)
		}
	case w.tag == active || w.tag == tentative:
		o.pc = abort
	default:
		o.pc = done
		if w != n.truth[o.tx] {
			n.wrong = mistaken
		}
	}
}

// Invariant names the fault.
func (m Model) Invariant(s *state) error {
	if s.wrong != "" {
		return errors.New(s.wrong)
	}
	return nil
}

// Final finds every version settled.
func (m Model) Final(s *state) error {
	for tx, v := range s.version {
		if v.tag != private && v != s.truth[tx] {
			return errors.New(missettled)
		}
	}
	return nil
}

// Explain shows the shared words.
func (m Model) Explain(_, s *state) string {
	return fmt.Sprint("clock ", s.clock, " record ", s.record, " versions ", s.version[:len(m.Tx)])
}

// Run explores a scenario.
func Run(sc Scenario, o explore.Options) explore.Result {
	return explore.Run[state](Model{sc}, o)
}
