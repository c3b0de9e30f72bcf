package mvcc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A program is a sequence of actions of one goroutine over a map, several open
// transactions and several open snapshots. Whoever runs it chooses, step by
// step: rapid in rapid_test.go, the bytes of a fuzz test in fuzz_test.go. Each
// result is compared with what the oracle says; nothing that is compared depends
// on what the background work is at, so that a program fails again when it is
// run again, and can be made smaller.
type program[K, V comparable] struct {
	t      tester
	outer  testing.TB
	choose chooser
	key    func(i int) K
	value  func(n int) V

	m      *Map[K, V]
	o      *oracle[K, V]
	open   []*openTx[K, V]
	done   []*openTx[K, V] // ended: the last few
	keys   int
	level  Level // of transactions that do not ask for one
	quiet  bool  // there is no background work
	closed bool

	pins      []uint64  // read epochs of what is open but for p.open
	values    int       // values made up so far
	numbers   map[V]int // what mixed values are made of
	mixed     map[int]V
	begun     int    // handles named so far
	ended     uint64 // transactions and snapshots ended so far
	conflicts uint64
	retries   uint64
	trace     []traced
}

// A chooser chooses a number from 0 to n-1, for the purpose named.
type chooser func(n int, what string) int

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A traced step is written out if the program fails.
type traced struct {
	format string
	args   []any
}

// An action is one kind of step. It is possible when ready says so.
type action struct {
	name  string
	ready func() bool
	run   func()
}

const (
	maxOpen  = 8   // transactions and snapshots open at a time
	maxDone  = 4   // handles that have ended and are still used
	manyKeys = 100 // more than a scan looks at together
)

// newProgram makes a map with options that it chooses.
func newProgram[K, V comparable](
	t tester, outer testing.TB, choose chooser, key func(int) K, value func(int) V,
) *program[K, V] {
	p := &program[K, V]{t: t, outer: outer, choose: choose, key: key, value: value,
		o:       newOracle[K, V](),
		numbers: map[V]int{}, mixed: map[int]V{}}
	opts := &Options{
		ReclaimInterval: time.Millisecond,
		ReclaimWorkers:  choose(4, "workers") - 1,
		ReclaimQueue:    []int{16, 1, 100}[choose(3, "queue")],
		PruneThreshold:  1 + choose(20, "threshold"),
		Capacity:        []int{0, 1, manyKeys}[choose(3, "capacity")],
		Isolation:       Level(choose(3, "level")),
	}
	if p.quiet = opts.ReclaimWorkers < 0; p.quiet {
		opts.ReclaimInterval = time.Hour
	}
	if p.level = opts.Isolation; p.level == LevelDefault {
		p.level = LevelSerializable
	}
	if p.keys = 1 + choose(13, "keys"); p.keys == 13 {
		p.keys = manyKeys
	}
	p.note("%+v, %d keys", *opts, p.keys)
	p.m = New[K, V](opts)
	return p
}

// note notes what the program does, for the case that it fails.
func (p *program[K, V]) note(format string, args ...any) {
	p.trace = append(p.trace, traced{format, args})
}

// check fails the program unless ok. What it fails with does not depend on the
// details: two runs of a program must fail in the same way.
func (p *program[K, V]) check(ok bool, what, format string, details ...any) {
	if ok {
		return
	}
	p.t.Helper()
	var b strings.Builder
	for _, step := range p.trace {
		fmt.Fprintf(&b, "\t"+step.format+"\n", step.args...)
	}
	p.t.Logf("the program:\n%s%s: %s", &b, what, fmt.Sprintf(format, details...))
	p.t.Fatalf("%s is wrong", what)
}

// same returns a function that checks the result of a read.
func (p *program[K, V]) same(what string, want V, present bool) func(got V, ok bool) {
	p.t.Helper()
	return func(got V, ok bool) {
		p.t.Helper()
		p.check(ok == present && got == want, what, "want %v (%v), got %v (%v)", want, present, got, ok)
	}
}

// sameAll checks the result of a scan.
func (p *program[K, V]) sameAll(what string, want, got map[K]V) {
	p.t.Helper()
	if len(want) == len(got) {
		same := true
		for key, value := range want {
			v, ok := got[key]
			same = same && ok && v == value
		}
		if same {
			return
		}
	}
	p.check(false, what, "%s", cmp.Diff(want, got))
}

// anyKey chooses a key.
func (p *program[K, V]) anyKey() K { return p.key(p.choose(p.keys, "key")) }

// next makes up a value that no key has had.
func (p *program[K, V]) next() V {
	p.values++
	value := p.value(p.values)
	p.numbers[value] = p.values
	return value
}

// committed is called after every commit that wrote, and says what.
func (p *program[K, V]) committed(writes map[K]*V) {
	p.o.commit(uint64(coreOf(p.m).slots.Now()), writes)
	for key := range writes {
		p.checkChain(key, false)
		n, most := len(chain(p.m, key)), len(p.live())+2+slack
		p.check(n <= most, "length of a chain", "%v has %d versions, want at most %d", key, n, most)
	}
}

// one is committed for one key.
func (p *program[K, V]) one(key K, value *V) { p.committed(map[K]*V{key: value}) }

// live returns the read epochs of everything that is open.
func (p *program[K, V]) live() []uint64 {
	epochs := slices.Clone(p.pins)
	for _, x := range p.open {
		epochs = append(epochs, x.epoch)
	}
	return epochs
}

// checkChain checks that the chain of key has every version that anybody sees,
// and none that there never was. If exact says that the key was pruned here and
// now, it has no other, and the entry of a key that everybody sees deleted is
// gone.
func (p *program[K, V]) checkChain(key K, exact bool) {
	live := p.live()
	wanted := p.o.wanted(key, live)
	got := chain(p.m, key)
	last := ^uint64(0)
	for _, l := range got {
		p.check(slices.Contains(p.o.history[key], l), "chain",
			"%v has version %v, which there never was", key, l)
		p.check(l.Epoch < last, "order of a chain", "%v: %v", key, got)
		last = l.Epoch
		p.check(!exact || slices.Contains(wanted, l), "length of a chain",
			"%v has %v, wanted is %v, live %v", key, got, wanted, live)
	}
	for _, l := range wanted {
		p.check(l.Tomb || slices.Contains(got, l), "loss of a version",
			"%v has %v, wanted is %v, live %v", key, got, wanted, live)
	}
	if !exact {
		return
	}
	gone := len(wanted) == 0
	if len(wanted) == 1 && wanted[0].Tomb {
		// Who only reads, and from before the deletion, does not need it.
		before := func(e uint64) bool { return e < wanted[0].Epoch }
		gone = !slices.ContainsFunc(p.pins, before) &&
			!slices.ContainsFunc(p.open, func(x *openTx[K, V]) bool { return x.isTx && before(x.epoch) })
	}
	p.check(!gone || !p.m.has(key), "an absent key", "%v is still in the index: %v, live %v", key,
		got, live)
}

// checkStats is checked after every step: what can be counted is counted.
func (p *program[K, V]) checkStats() {
	s := p.m.Stats()
	p.check(s.Commits == uint64(p.o.now()), "Stats.Commits", "want %d, got %d", p.o.now(), s.Commits)
	p.check(s.LiveTx == len(p.open), "Stats.LiveTx", "want %d, got %d", len(p.open), s.LiveTx)
	p.check(s.Ended == p.ended, "Stats.Ended", "want %d, got %d", p.ended, s.Ended)
	p.check(s.Conflicts == p.conflicts, "Stats.Conflicts", "want %d, got %d", p.conflicts, s.Conflicts)
	p.check(s.Retries == p.retries, "Stats.Retries", "want %d, got %d", p.retries, s.Retries)
	help := s.Helped + s.Pushed + s.Revoked + s.Rivals + s.Reinstalled + s.Leaked
	p.check(help == 0, "Stats", "one goroutine has helped others: %+v", s)
}

// finish ends what is open and checks what is left of the map.
func (p *program[K, V]) finish() {
	for len(p.open) > 0 {
		x := p.open[0]
		p.note("%s in the end", x.name)
		p.scan(x, false)
		if x.isTx {
			x.tx.Rollback()
		} else {
			x.s.Close()
		}
		p.close(0)
	}
	p.m.Close()
	p.quiet = true
	p.prune()
	p.sameAll("contents in the end", p.o.newest(), contents(programTB{p.outer, p.t}, p.m))
	p.ended++
	p.checkStats()
	n := len(heads(p.m))
	p.check(n == len(p.o.newest()), "index in the end", "%d entries for %d keys", n, len(p.o.newest()))
	checkQuiet(programTB{p.outer, p.t}, p.m)
}

// close takes the handle i off the list of those that are open.
func (p *program[K, V]) close(i int) {
	p.ended++
	if p.done = append(p.done, p.open[i]); len(p.done) > maxDone {
		p.done = p.done[1:]
	}
	p.open = slices.Delete(p.open, i, i+1)
}

// A programTB lets a helper for tests fail a program, and not the test around
// it, so that the program can be made smaller.
type programTB struct {
	testing.TB
	t tester
}

func (p programTB) Helper()                           { p.t.Helper() }
func (p programTB) Errorf(format string, args ...any) { p.t.Logf(format, args...) }
func (p programTB) FailNow() {
	p.t.Helper()
	p.t.Fatalf("the map is wrong in the end")
}
