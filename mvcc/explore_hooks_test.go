//go:build mvcchooks

package mvcc

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// Random schedules of small random programs, one step of one actor at a time,
// each checked for strict serializability by looking for an order of its
// operations that explains what they returned. One run is one seed.

var (
	schedules    = flag.Int("schedules", 0, "how many random schedules to explore; 0: as many as fit the suite")
	scheduleSeed = flag.Uint64("schedule-seed", 1, "seed of the first random schedule")
)

// An operation of a program, and what became of it.
type operation struct {
	kind   string
	reads  []string       // in this order; scan reads all
	scan   bool           //
	writes map[string]int // 0: delete
	urgent bool           // in priority mode

	started, ended int
	aborted        bool
	saw            map[string]int // 0: absent
}

func (o *operation) String() string {
	return fmt.Sprintf("[%d,%d] %s reads %v scan %v urgent %v writes %v: aborted %v, saw %v",
		o.started, o.ended, o.kind, o.reads, o.scan, o.urgent, o.writes, o.aborted, o.saw)
}

var exploredKeys = []string{"a", "b", "c"}

// randomOperation makes up an operation; it writes id.
func randomOperation(r *rand.Rand, id int) *operation {
	key := func() string { return exploredKeys[r.IntN(len(exploredKeys))] }
	some := func(atLeast int) (keys []string) {
		for _, i := range r.Perm(len(exploredKeys))[:atLeast+r.IntN(len(exploredKeys)+1-atLeast)] {
			keys = append(keys, exploredKeys[i])
		}
		return keys
	}
	o := &operation{writes: map[string]int{}, saw: map[string]int{}}
	switch r.IntN(12) {
	case 0:
		o.kind, o.reads = "load", []string{key()}
	case 1:
		k := key()
		o.kind, o.reads, o.writes[k] = "swap", []string{k}, id
	case 2:
		o.kind, o.writes[key()] = "store", id
	case 3:
		k := key()
		o.kind, o.reads, o.writes[k] = "loadAndDelete", []string{k}, 0
	case 4:
		k := key()
		o.kind, o.reads, o.writes[k] = "loadOrStore", []string{k}, id
	case 5:
		o.kind = "prune"
	case 6, 7:
		o.kind, o.reads, o.scan = "view", some(1), r.IntN(3) == 0
	default:
		o.kind, o.reads, o.scan, o.urgent = "update", some(0), r.IntN(6) == 0, r.IntN(4) == 0
		for _, k := range some(1) {
			o.writes[k] = id
			if r.IntN(4) == 0 {
				o.writes[k] = 0
			}
		}
	}
	return o
}

// run performs the operation on m and notes what it saw.
func (o *operation) run(m *Map[string, int]) {
	note := func(key string, value int, ok bool) {
		if old, twice := o.saw[key]; twice && old != value {
			panic(fmt.Sprintf("read %s twice: %d, then %d", key, old, value))
		}
		if ok == (value == 0) {
			panic(fmt.Sprintf("%s: %d, %v", key, value, ok))
		}
		o.saw[key] = value
	}
	read := func(r Reader[string, int]) {
		for _, key := range o.reads {
			value, ok := r.Get(key)
			note(key, value, ok)
		}
		if o.scan {
			met := map[string]bool{}
			for key, value := range r.All() {
				note(key, value, true)
				met[key] = true
			}
			for _, key := range exploredKeys {
				if !met[key] {
					note(key, 0, false)
				}
			}
		}
	}
	for key, value := range o.writes { // the one-key operations have one
		switch o.kind {
		case "store":
			m.Store(key, value)
		case "swap":
			previous, ok := m.Swap(key, value)
			note(key, previous, ok)
		case "loadAndDelete":
			previous, ok := m.LoadAndDelete(key)
			note(key, previous, ok)
		case "loadOrStore":
			actual, loaded := m.LoadOrStore(key, value)
			if !loaded {
				actual = 0
			}
			note(key, actual, loaded)
		}
	}
	switch o.kind {
	case "load":
		value, ok := m.Load(o.reads[0])
		note(o.reads[0], value, ok)
	case "prune":
		prune(m)
	case "view":
		s := m.Snapshot()
		read(s)
		s.Close()
	case "update":
		tx := m.Begin(nil)
		if o.urgent { // without the others' giving way
			tx.st.ticket = 1<<40 | uint64(o.started)
		}
		read(tx)
		for key, value := range o.writes {
			if value == 0 {
				tx.Delete(key)
			} else {
				tx.Set(key, value)
			}
		}
		o.aborted = tx.Commit() != nil
		if o.aborted && len(o.saw) == 0 {
			panic("a transaction that has read nothing conflicts")
		}
	}
}

// apply reports whether o can have happened in state, and the state after it.
func (o *operation) apply(state [3]int) ([3]int, bool) {
	for i, key := range exploredKeys {
		if saw, ok := o.saw[key]; ok && saw != state[i] {
			return state, false
		}
	}
	for i, key := range exploredKeys {
		value, ok := o.writes[key]
		if ok && (o.kind != "loadOrStore" || state[i] == 0) {
			state[i] = value
		}
	}
	return state, true
}

// explained reports whether there is an order of the operations, in agreement
// with real time, in which each returns what it did.
func explained(ops []*operation, state [3]int) bool {
	if len(ops) == 0 {
		return true
	}
	for i, o := range ops {
		first := true
		for _, other := range ops {
			first = first && other.ended >= o.started // nothing that is left ended before
		}
		if next, ok := o.apply(state); first && ok {
			rest := append(append([]*operation{}, ops[:i]...), ops[i+1:]...)
			if explained(rest, next) {
				return true
			}
		}
	}
	return false
}

// explore runs one schedule.
func explore(stage *stage, seed uint64) (report string, ok bool) {
	r := rand.New(rand.NewPCG(seed, 7))
	opts := still()
	opts.ReclaimQueue = 16 // a small one is made faster
	m := New[string, int](opts)
	defer m.Close()
	var initial [3]int
	for i, key := range exploredKeys {
		switch r.IntN(4) {
		case 0: // never there
		case 1:
			m.Store(key, 1)
			m.Delete(key)
		default:
			initial[i] = i + 1
			m.Store(key, i+1)
		}
	}
	clock, id := 0, 10
	var ops []*operation
	var actors []*actor
	for i := range 2 + r.IntN(3) {
		var program []*operation
		for range 1 + r.IntN(2) {
			id++
			program = append(program, randomOperation(r, id))
		}
		ops = append(ops, program...)
		actors = append(actors, stage.actor(fmt.Sprint("actor ", i), func() {
			for _, o := range program {
				clock++
				o.started = clock
				o.run(m)
				clock++
				o.ended = clock
			}
		}))
	}
	var trace strings.Builder
	const background = 1<<hooks.Dequeued | 1<<hooks.Parking
	stay := 0.1 + 0.8*r.Float64() // how likely it is that the same one goes on
	var failed any
	for last, left := 0, actors; len(left) > 0; {
		if r.Float64() > stay || last >= len(left) {
			last = r.IntN(len(left))
		}
		// Whoever got into priority mode has lost it again, as if found standing
		// still: otherwise the others wait for it, and the test with them.
		m.priority.holder.Store(0)
		p, more := left[last].step(everyPoint &^ background)
		if more {
			fmt.Fprintf(&trace, "%s: %v\n", left[last].name, p)
			continue
		}
		fmt.Fprintf(&trace, "%s: end\n", left[last].name)
		if left[last].result != nil {
			failed = left[last].result
		}
		left = append(left[:last:last], left[last+1:]...)
	}
	end := &operation{kind: "in the end", started: clock + 1, ended: clock + 2, saw: map[string]int{}}
	for _, key := range exploredKeys {
		end.saw[key], _ = m.Load(key)
	}
	history := []*operation{end}
	for _, o := range ops {
		if !o.aborted && o.kind != "prune" {
			history = append(history, o)
		}
	}
	if failed == nil && explained(history, initial) {
		for key, value := range contents(stage.t, m) {
			require.Equal(stage.t, end.saw[key], value)
		}
		checkQuiet(stage.t, m)
		return "", true
	}
	fmt.Fprintf(&trace, "initially %v\n", initial)
	for _, o := range append(ops, end) {
		fmt.Fprintln(&trace, o)
	}
	return fmt.Sprintf("seed %d: panic: %v\n%s", seed, failed, &trace), false
}

func TestRandomSchedules(t *testing.T) {
	stage := newStage(t)
	n := *schedules
	if n == 0 {
		n = sizes(5000, 500)
	}
	start := time.Now()
	for i := range n {
		report, ok := explore(stage, *scheduleSeed+uint64(i))
		if !ok {
			require.FailNow(t, "no order of the operations explains what they returned", report)
		}
	}
	t.Logf("%d schedules in %v", n, time.Since(start))
}

// The checker itself must be able to say no.
func TestExplained(t *testing.T) {
	store := &operation{kind: "store", writes: map[string]int{"a": 5}, started: 1, ended: 2}
	load := func(a, started, ended int) *operation {
		return &operation{kind: "load", saw: map[string]int{"a": a}, started: started, ended: ended}
	}
	initial := [3]int{1, 0, 0}
	require.True(t, explained([]*operation{store, load(5, 3, 4)}, initial))
	require.False(t, explained([]*operation{store, load(1, 3, 4)}, initial), "real time")
	slow := &operation{kind: "store", writes: map[string]int{"a": 5}, started: 1, ended: 9}
	require.True(t, explained([]*operation{slow, load(1, 3, 4), load(5, 5, 6)}, initial))
	require.False(t, explained([]*operation{slow, load(5, 3, 4), load(1, 5, 6)}, initial), "backwards")
	skew := func(read, write string, id int) *operation {
		return &operation{kind: "update", saw: map[string]int{read: 0}, writes: map[string]int{write: id}, started: 1, ended: 9}
	}
	require.True(t, explained([]*operation{skew("b", "b", 7)}, initial))
	require.False(t, explained([]*operation{skew("b", "c", 7), skew("c", "b", 8)}, initial), "write skew")
}
