package mvcc

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// Random programs of one goroutine over several open transactions and snapshots,
// against an oracle that keeps a whole map for each epoch.

var oracleSeed = flag.Uint64("oracle-seed", 0, "run the oracle test with this seed only")

// An oracle is a slow map that is right by inspection.
type oracle struct {
	states  []map[int]int // by number of commits
	changed map[int][]int // by key: after which commits it was another version
}

func (o *oracle) now() int { return len(o.states) - 1 }

func (o *oracle) newest() map[int]int { return o.states[o.now()] }

// commit makes a new state; a nil value deletes.
func (o *oracle) commit(writes map[int]*int) {
	next := maps.Clone(o.newest())
	for key, value := range writes {
		if value == nil {
			delete(next, key)
		} else {
			next[key] = *value
		}
		o.changed[key] = append(o.changed[key], len(o.states))
	}
	o.states = append(o.states, next)
}

// since reports whether key was written after the state at.
func (o *oracle) since(key, at int) bool {
	c := o.changed[key]
	return len(c) > 0 && c[len(c)-1] > at
}

// An oracleTx is an open transaction or snapshot beside what the oracle knows.
type oracleTx struct {
	tx      Tx[int, int]
	s       Snapshot[int, int]
	isTx    bool
	level   Level
	at      int
	read    map[int]bool
	scanned bool
	writes  map[int]*int
}

// get returns what the transaction must see.
func (x *oracleTx) get(o *oracle, key int) (int, bool) {
	if value, own := x.writes[key]; own {
		if value == nil {
			return 0, false
		}
		return *value, true
	}
	if x.isTx {
		x.read[key] = true
	}
	value, ok := o.states[x.at][key]
	return value, ok
}

// verdict says whether a commit must succeed, must conflict, or may do either:
// a key that was absent, written, and is absent again.
func (x *oracleTx) verdict(o *oracle) (must, may bool) {
	if len(x.writes) == 0 || len(x.read) == 0 && !x.scanned {
		return true, true
	}
	if x.level == LevelSnapshot {
		for key := range x.writes {
			if o.since(key, x.at) {
				return false, false
			}
		}
		return true, true
	}
	must, may = true, true
	if x.scanned && o.now() > x.at {
		return false, false
	}
	for key := range x.read {
		if !o.since(key, x.at) {
			continue
		}
		_, before := o.states[x.at][key]
		_, after := o.newest()[key]
		must = false
		may = may && !before && !after
	}
	return must, may
}

func runOracle(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	keys := 1 + r.IntN(12)
	m := New[int, int](&Options{ReclaimWorkers: r.IntN(3) - 1, PruneThreshold: 1 + r.IntN(20), ReclaimInterval: brisk().ReclaimInterval})
	defer m.Close()
	o := &oracle{states: []map[int]int{{}}, changed: map[int][]int{}}
	var open []*oracleTx
	step := 0
	where := func() string { return fmt.Sprintf("step %d, run again with -oracle-seed=%d", step, seed) }
	check := func(ok bool, format string, args ...any) {
		if !ok {
			t.Helper()
			require.FailNow(t, fmt.Sprintf(format, args...), where())
		}
	}
	same := func(what string, want int, present bool) func(got int, ok bool) {
		return func(got int, ok bool) {
			t.Helper()
			check(ok == present && got == want, "%s: want %d (%v), got %d (%v)", what, want, present, got, ok)
		}
	}
	one := func(key int, value *int) { o.commit(map[int]*int{key: value}) }
	for step = range 300 {
		key, value := r.IntN(keys), step+1
		old, there := o.newest()[key]
		switch n := r.IntN(26); n {
		case 0:
			m.Store(key, value)
			one(key, &value)
		case 1:
			same("Swap", old, there)(m.Swap(key, value))
			one(key, &value)
		case 2:
			same("LoadAndDelete", old, there)(m.LoadAndDelete(key))
			if there {
				one(key, nil)
			}
		case 3:
			want := value
			if there {
				want = old
			} else {
				one(key, &value)
			}
			same("LoadOrStore", want, there)(m.LoadOrStore(key, value))
		case 4:
			swapped := CompareAndSwap(m, key, old, value)
			check(swapped == there, "CompareAndSwap: %v", swapped)
			if there {
				one(key, &value)
			}
		case 5:
			same("Load", old, there)(m.Load(key))
		case 6:
			prune(m)
		case 7:
			if len(open) < 8 {
				open = append(open, &oracleTx{s: m.Snapshot(), at: o.now()})
			}
		case 8, 9:
			if len(open) < 8 {
				opts := levels[r.IntN(2)]
				open = append(open, &oracleTx{tx: m.Begin(opts), isTx: true, level: opts.Isolation, at: o.now(),
					read: map[int]bool{}, writes: map[int]*int{}})
			}
		default:
			if len(open) == 0 {
				continue
			}
			i := r.IntN(len(open))
			x := open[i]
			var reader Reader[int, int] = x.s
			if x.isTx {
				reader = x.tx
			}
			end := func() { open = append(open[:i], open[i+1:]...) }
			switch {
			case n < 15:
				want, present := x.get(o, key)
				same("Get", want, present)(reader.Get(key))
			case n < 17:
				want := maps.Clone(o.states[x.at])
				for key, value := range x.writes {
					if delete(want, key); value != nil {
						want[key] = *value
					}
				}
				if d := cmp.Diff(want, maps.Collect(reader.All())); d != "" {
					check(false, "All: %s", d)
				}
				x.scanned = true
			case !x.isTx:
				if n == 17 {
					check(x.s.Len() == len(o.states[x.at]), "Len: %d", x.s.Len())
				} else if n > 23 {
					x.s.Close()
					end()
				}
			case n < 20:
				x.tx.Set(key, value)
				x.writes[key] = &value
			case n < 22:
				x.tx.Delete(key)
				x.writes[key] = nil
			case n == 22:
				x.tx.Rollback()
				end()
			default:
				must, may := x.verdict(o)
				early := x.tx.Err()
				err := x.tx.Commit()
				check(!must || err == nil, "Commit: %v", err)
				check(may || err != nil, "Commit: no conflict")
				check(early == nil || err != nil, "Err said %v, and Commit nothing", early)
				if err == nil && len(x.writes) > 0 {
					o.commit(x.writes)
				}
				end()
			}
		}
	}
	for _, x := range open {
		if x.isTx {
			x.tx.Rollback()
		} else {
			if d := cmp.Diff(o.states[x.at], maps.Collect(x.s.All())); d != "" {
				check(false, "All: %s", d)
			}
			x.s.Close()
		}
	}
	if d := cmp.Diff(o.newest(), contents(t, m)); d != "" {
		check(false, "in the end: %s", d)
	}
	check(m.Stats().Commits == uint64(o.now()), "%d commits counted, %d made", m.Stats().Commits, o.now())
	prune(m)
	check(len(entries(m)) == len(o.newest()), "%d entries in the index for %d keys", len(entries(m)), len(o.newest()))
	checkQuiet(t, m)
}

func TestOracle(t *testing.T) {
	if *oracleSeed != 0 {
		runOracle(t, *oracleSeed)
		return
	}
	for seed := range uint64(sizes(800, 150)) {
		runOracle(t, seed+1)
	}
}
