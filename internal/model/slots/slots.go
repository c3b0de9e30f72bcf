// Package slots models how a transaction publishes its read epoch and how the
// reclaimer finds out which read epochs are live.
//
// A slot is two words. The word w holds an epoch and one bit of parity,
// S<<1 | parity; the generation g counts the transactions that have ended in
// the slot. The slot is live if and only if the parity in w is that of g, so a
// transaction begins with one store and ends with one compare-and-swap, and a
// handle, which remembers g, can tell that its transaction has ended.
//
//	epoch.(*Slots).Begin     1  S = clock
//	                         2  w = S<<1 | g&1        the slot is live
//	                         3  bound > S? go back to 1  announce, then check (I6)
//	(*txState).get, Snapshot.Get, All
//	                         4  walk the chains as of S
//	Tx.check, Snapshot.check 5  g changed? panic(ErrTxDone), whatever the walk has found
//	epoch.(*Slot).End        6  compare-and-swap g, g+1  whoever wins frees the slot
//
//	epoch.(*Slots).Announce  1  m = clock
//	                         2  bound = m             before any slot is read (I6)
//	epoch.(*Slots).Look      3  for each slot: load w, then load g; live: add S to A
//	gc.(*Reclaimer).install  4  the view is {m, A}: core.prune drops every version
//	                            that is neither the newest not above m, nor the
//	                            newest not above an epoch in A
//
// Slots are handed out by (*Slots).Acquire, and taken back from a transaction that
// has become unreachable by (*Slots).Abandon, which ends it like anybody else. One
// reclaimer is modelled; of several that overlap ((*Reclaimer).RefreshPast) each
// announces its own m, and the bound only grows.
//
// I1 is what must hold: a live read epoch is in the view or at least its bound.
//
// The scanner's two loads are not atomic: between them the transaction may end
// and the next one begin in the same slot, and then the loaded w and g do not
// belong together. Why this is harmless: the next transaction reads the clock
// after its predecessor's end, hence after the scan has stored its bound, so
// its read epoch is at least m whether or not its check has to send it back. The
// order of the two loads does not matter for the same reason (variant
// [GenerationFirst] explores it).
//
// Chains are abstracted: every epoch has committed a version of one key, and a
// reader at S finds its version as long as nobody has pruned version S.
package slots

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/internal/model/explore"
)

// Variant is a set of deviations from the protocol.
type Variant uint

// The deviations. All but GenerationFirst are mistakes.
const (
	// NoBoundCheck: begin does not look at the bound after it has published.
	NoBoundCheck Variant = 1 << iota
	// CheckFirst: begin looks at the bound before it publishes.
	CheckFirst
	// ReloadClock: begin reads as of a clock loaded after it has published,
	// instead of as of the epoch it has published.
	ReloadClock
	// BoundAfterScan: the bound is stored after the slots have been read.
	BoundAfterScan
	// EndAdds: end adds one to the generation without comparing.
	EndAdds
	// NoRecheck: a read does not look at the generation after its walk.
	NoRecheck
	// GenerationFirst: the scanner loads g before w. Harmless.
	GenerationFirst
)

var variantNames = [...]string{
	"NoBoundCheck", "CheckFirst", "ReloadClock", "BoundAfterScan",
	"EndAdds", "NoRecheck", "GenerationFirst",
}

func (v Variant) String() string {
	var names []string
	for i, n := range variantNames {
		if v>>i&1 != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, "+")
}

const (
	maxTx    = 4
	maxSlots = 2
)

// Scenario is a bounded run: transactions that take any free slot, commits that
// advance the clock, and a reclaimer that takes views and prunes.
type Scenario struct {
	Slots   int
	Tx      int  // transactions, each in a goroutine of its own
	Reads   int  // reads of each transaction
	Commits int  // versions added
	Passes  int  // views taken
	Closer  bool // another goroutine ends the first transaction too, at any time
	Variant Variant
}

// Model is a scenario to explore.
type Model struct{ Scenario }

type state struct {
	clock, bound uint8
	slot         [maxSlots]slot
	kept         uint16 // bit e: the version of epoch e has not been pruned
	lost         bool   // a transaction has answered without its version
	stolen       bool   // a transaction that nobody has ended finds itself ended
	commits      uint8
	handle       handle // the handle of the first transaction, for the closer
	closed       bool   // the closer has used it
	tx           [maxTx]tx
	gc           scanner
}

type slot struct {
	w, g uint8
	busy bool // owned by a transaction that has not ended
}

type handle struct {
	set       bool
	slot, gen uint8
}

type tx struct {
	pc, slot, gen uint8
	s             uint8 // read epoch
	reads         uint8
	missed        bool // the walk has not found the version
}

// The next access of a transaction.
const (
	txTake uint8 = iota
	txClock
	txPublish
	txCheck
	txReload // ReloadClock
	txWalk
	txRecheck
	txEnd
	txDone
)

type scanner struct {
	pc, pass, i uint8
	m           uint8
	loaded      uint8  // the first of the two words
	live        uint16 // bit e: e is in A
}

// The next access of the scanner.
const (
	gcClock  uint8 = iota
	gcBound        // store the bound
	gcFirst        // load w
	gcSecond       // load g
	gcPrune
	gcDone
)

func (m Model) has(v Variant) bool { return m.Variant&v != 0 }

// Initial has one version, of epoch 1, and no live slot.
func (m Model) Initial() state {
	s := state{clock: 1, kept: 1 << 1}
	for i := range s.slot {
		s.slot[i].w = 1 // parity 1, generation 0
	}
	for i := m.Tx; i < maxTx; i++ {
		s.tx[i].pc = txDone
	}
	s.closed = !m.Closer
	if m.Passes == 0 {
		s.gc.pc = gcDone
	}
	return s
}

// Processes counts the transactions, the committer, the reclaimer and the
// closer.
func (m Model) Processes() int { return m.Tx + 3 }

// Name names a process.
func (m Model) Name(p int) string {
	switch p - m.Tx {
	case 0:
		return "committer"
	case 1:
		return "reclaimer"
	case 2:
		return "closer"
	}
	return fmt.Sprintf("T%d", p+1)
}

// Finished reports whether process p is done.
func (m Model) Finished(s *state, p int) bool {
	switch p - m.Tx {
	case 0:
		return int(s.commits) == m.Commits
	case 1:
		return s.gc.pc == gcDone
	case 2:
		return s.closed
	}
	return s.tx[p].pc == txDone
}

// Moves makes the next step of process p.
func (m Model) Moves(s *state, p int, yield func(string, *state)) {
	n := *s
	switch p - m.Tx {
	case 0:
		n.commits++
		n.clock++
		n.kept |= 1 << n.clock
		yield("commit", &n)
	case 1:
		yield(m.scan(&n), &n)
	case 2:
		if !n.handle.set {
			yield("wait for T1 to begin", &n)
			return
		}
		m.end(&n, n.handle)
		n.closed = true
		yield("end T1", &n)
	default:
		if n.tx[p].pc == txTake {
			m.take(s, p, yield)
			return
		}
		yield(m.transact(&n, p), &n)
	}
}

// take begins transaction p in any free slot, or waits for one. (The package
// makes more slots instead of waiting.)
func (m Model) take(s *state, p int, yield func(string, *state)) {
	none := true
	for i := range m.Slots {
		if s.slot[i].busy {
			continue
		}
		none = false
		n := *s
		n.slot[i].busy = true
		n.tx[p] = tx{pc: txClock, slot: uint8(i), gen: s.slot[i].g}
		yield(fmt.Sprintf("take slot %d", i), &n)
	}
	if none {
		yield("wait for a slot", s)
	}
}

// transact makes the next step of transaction p.
func (m Model) transact(n *state, p int) string {
	t := &n.tx[p]
	sl := &n.slot[t.slot]
	began := func() {
		t.pc = txWalk
		if p == 0 && m.Closer {
			n.handle = handle{true, t.slot, t.gen}
		}
	}
	switch t.pc {
	case txClock:
		t.s = n.clock
		t.pc = txPublish
		if m.has(CheckFirst) {
			t.pc = txCheck
		}
		return "load the clock"
	case txPublish:
		sl.w = t.s<<1 | t.gen&1
		switch {
		case m.has(NoBoundCheck), m.has(CheckFirst):
			began()
		case m.has(ReloadClock):
			t.pc = txReload
		default:
			t.pc = txCheck
		}
		return "publish"
	case txCheck:
		switch {
		case n.bound > t.s:
			t.s = 0
			t.pc = txClock
		case m.has(CheckFirst):
			t.pc = txPublish
		default:
			began()
		}
		return "check the bound"
	case txReload:
		t.s = n.clock
		began()
		return "load the clock again"
	case txWalk:
		t.missed = n.kept>>t.s&1 == 0
		t.pc = txRecheck
		return "walk"
	case txRecheck:
		if sl.g != t.gen && !m.has(NoRecheck) { // ErrTxDone
			n.stolen = n.stolen || p != 0 || !m.Closer
			*t = tx{pc: txDone}
			return "find the transaction ended"
		}
		n.lost = n.lost || t.missed
		t.missed = false
		t.reads++
		t.pc = txWalk
		if int(t.reads) == m.Reads {
			t.pc = txEnd
		}
		return "answer"
	case txEnd:
		m.end(n, handle{true, t.slot, t.gen})
		*t = tx{pc: txDone}
		return "end"
	}
	panic("slots: a finished transaction moves")
}

// end ends the transaction that h stands for, unless that has been done.
func (m Model) end(n *state, h handle) {
	sl := &n.slot[h.slot]
	if sl.g == h.gen || m.has(EndAdds) {
		sl.g++
		sl.busy = false
	}
}

// scan makes the next step of the reclaimer.
func (m Model) scan(n *state) string {
	c := &n.gc
	switch c.pc {
	case gcClock:
		c.m = n.clock
		c.pc = gcBound
		if m.has(BoundAfterScan) {
			c.pc = gcFirst
		}
		return "load the clock"
	case gcBound:
		n.bound = c.m
		c.pc = gcFirst
		if m.has(BoundAfterScan) {
			c.pc = gcPrune
		}
		return "store the bound"
	case gcFirst:
		c.loaded = n.slot[c.i].w
		if m.has(GenerationFirst) {
			c.loaded = n.slot[c.i].g
		}
		c.pc = gcSecond
		return fmt.Sprintf("load the first word of slot %d", c.i)
	case gcSecond:
		w, g := c.loaded, n.slot[c.i].g
		if m.has(GenerationFirst) {
			w, g = n.slot[c.i].w, c.loaded
		}
		if w&1 == g&1 && w>>1 < c.m {
			c.live |= 1 << (w >> 1)
		}
		what := fmt.Sprintf("load the second word of slot %d", c.i)
		c.loaded = 0
		c.i++
		c.pc = gcFirst
		if int(c.i) == m.Slots {
			c.i = 0
			c.pc = gcPrune
			if m.has(BoundAfterScan) {
				c.pc = gcBound
			}
		}
		return what
	case gcPrune:
		below := uint16(1)<<c.m - 1
		n.kept &^= below &^ c.live
		*c = scanner{pass: c.pass + 1}
		if int(c.pass) == m.Passes {
			c.pc = gcDone
		}
		return "prune"
	}
	panic("slots: a finished scanner moves")
}

// Invariant checks I1 as soon as a view is complete, that no live transaction
// has missed its version, and that nobody has ended somebody else's.
func (m Model) Invariant(s *state) error {
	if s.lost {
		return errors.New("a live transaction has not found its version")
	}
	if s.stolen {
		return errors.New("a handle has ended a stranger's transaction")
	}
	if s.gc.pc != gcPrune {
		return nil
	}
	for i := range m.Tx {
		t := &s.tx[i]
		live := t.pc >= txWalk && t.pc < txDone && s.slot[t.slot].g == t.gen
		if live && t.s < s.gc.m && s.gc.live>>t.s&1 == 0 {
			return fmt.Errorf("I1: live epoch %d of T%d is neither in the view nor at least its bound %d", t.s, i+1, s.gc.m)
		}
	}
	return nil
}

// Final has nothing to add.
func (m Model) Final(*state) error { return nil }

// Explain lists what has changed.
func (m Model) Explain(a, b *state) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if a.clock != b.clock {
		add("clock=%d", b.clock)
	}
	if a.bound != b.bound {
		add("bound=%d", b.bound)
	}
	for i := range m.Slots {
		if p, q := a.slot[i], b.slot[i]; p.w != q.w || p.g != q.g {
			add("slot %d: epoch %d, parity %d, generation %d", i, q.w>>1, q.w&1, q.g)
		}
	}
	for e := range 16 {
		if (a.kept&^b.kept)>>e&1 != 0 {
			add("version %d pruned", e)
		}
		if (b.gc.live&^a.gc.live)>>e&1 != 0 {
			add("epoch %d is live", e)
		}
	}
	for i := range m.Tx {
		if p, q := a.tx[i], b.tx[i]; q.pc != txDone && p.s != q.s && q.s != 0 {
			add("read epoch %d", q.s)
		}
	}
	return strings.Join(out, ", ")
}

// Run explores a scenario.
func Run(sc Scenario, o explore.Options) explore.Result {
	return explore.Run[state](Model{sc}, o)
}
