package etcdtest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

var (
	seed   = flag.Uint64("seed", 0, "of the random tests; 0 means another one each time")
	rounds = flag.Int("rounds", 4, "how many faults each random test makes")
)

func seeded(t *testing.T) uint64 {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", s)
	return s
}

// A crew is goroutines that go on until the test has made its faults.
type crew struct {
	sync.WaitGroup
	over atomic.Bool
}

func (c *crew) run(seed uint64, f func(r *rand.Rand)) {
	c.Go(func() {
		r := rand.New(rand.NewPCG(seed, 1))
		for !c.over.Load() {
			f(r)
		}
	})
}

// nemesis makes faults: the leader is killed and comes back, connections of a process break, the
// history is compacted, a member stands still for a while. After each it waits until commits go
// through again.
func nemesis(t *testing.T, c *Cluster, all []*process, r *rand.Rand, commits func() uint64) {
	for round := range *rounds {
		switch round % faults {
		case 0:
			leader, err := c.Leader(within(t))
			require.NoError(t, err)
			require.NoError(t, c.Kill(leader))
			progress(t, commits)
			require.NoError(t, c.Run(leader))
		case 1:
			g := all[r.IntN(len(all))].gate
			g.set(true)
			progress(t, commits)
			g.set(false)
		case 2:
			g := all[r.IntN(len(all))].gate
			g.set(true)
			progress(t, commits)
			got, err := dial(t, c).Get(within(t), "x")
			require.NoError(t, err)
			compact(t, c, uint64(got.Header.Revision))
			g.set(false)
		case 3:
			leader, err := c.Leader(within(t))
			require.NoError(t, err)
			hold(t, c.Pid(leader), true)
			progress(t, commits)
			hold(t, c.Pid(leader), false)
		}
		progress(t, commits)
	}
}

// progress waits for some commits.
func progress(t *testing.T, commits func() uint64) {
	ctx := within(t)
	for until := commits() + 30; commits() < until && !t.Failed(); time.Sleep(time.Millisecond) {
		require.NoError(t, ctx.Err(), "nothing is committed any more")
	}
}

// Processes transfer money, withdraw from pairs of accounts that may not be overdrawn together, and
// count, while the leader is killed, connections break and the history is compacted. Every view of
// every process sums up; no pair is overdrawn; and the counters are what was committed.
func TestBank(t *testing.T) {
	t.Parallel()
	const accounts, total, pairs = 10, 1000, 4
	s := seeded(t)
	c, prefix := start(t, 3, 0), newPrefix()
	var all []*process
	for range 3 {
		all = append(all, open(t, c, prefix, nil))
	}
	p := all[0]
	p.update(t, func(tx mvcc.DBTx) {
		for i := range accounts {
			p.a.In(tx).Set(fmt.Sprint(i), total/accounts)
		}
		for i := range 2 * pairs {
			p.b.In(tx).Set(fmt.Sprint("pair", i), 50)
		}
	})
	for _, p := range all {
		_, err := p.Sync(within(t))
		require.NoError(t, err)
	}
	var counted, unknown, commits atomic.Uint64
	update := func(p *process, fn func(tx mvcc.DBTx) error) bool {
		err := p.Update(within(t), fn)
		switch {
		case err == nil:
			commits.Add(1)
			return true
		case errors.Is(err, etcd.ErrOutcomeUnknown):
			unknown.Add(1)
		case !errors.Is(err, mvcc.ErrConflict):
			t.Errorf("an update failed: %v", err)
		}
		return false
	}
	var work crew
	for n, p := range all {
		work.run(s+uint64(10*n), func(r *rand.Rand) { // transfers
			from, to, amount := fmt.Sprint(r.IntN(accounts)), fmt.Sprint(r.IntN(accounts)), r.IntN(10)
			update(p, func(tx mvcc.DBTx) error {
				in := p.a.In(tx)
				v, _ := in.Get(from)
				in.Set(from, v-amount)
				w, _ := in.Get(to)
				in.Set(to, w+amount)
				return nil
			})
		})
		work.run(s+uint64(10*n)+1, func(r *rand.Rand) { // write skew, by keys or by a range
			i := r.IntN(pairs)
			mine, other := fmt.Sprint("pair", 2*i+r.IntN(2)), fmt.Sprint("pair", 2*i)
			ranged := r.IntN(2) == 0
			update(p, func(tx mvcc.DBTx) error {
				in, sum := p.b.In(tx), 0
				if ranged {
					for _, v := range in.Ascend(mvcc.From(other).UpTo(fmt.Sprint("pair", 2*i+1))) {
						sum += v
					}
				} else {
					for j := range 2 {
						v, _ := in.Get(fmt.Sprint("pair", 2*i+j))
						sum += v
					}
				}
				v, _ := in.Get(mine)
				if sum >= 10 {
					in.Set(mine, v-10)
				} else {
					in.Set(mine, v+40)
				}
				return nil
			})
		})
		work.run(s+uint64(10*n)+2, func(r *rand.Rand) { // counts
			if update(p, adders["merged"](p)) {
				counted.Add(1)
			}
		})
		epoch := uint64(0)
		work.run(s+uint64(10*n)+3, func(r *rand.Rand) { // looks
			err := p.View(func(s mvcc.DBSnapshot) error {
				sum := 0
				for i := range accounts {
					v, _ := p.a.At(s).Get(fmt.Sprint(i))
					sum += v
				}
				if sum != total || s.Epoch() < epoch {
					t.Errorf("%d in all accounts at %d, after %d, want %d", sum, s.Epoch(), epoch, total)
				}
				for i := range pairs {
					x, _ := p.b.At(s).Get(fmt.Sprint("pair", 2*i))
					y, _ := p.b.At(s).Get(fmt.Sprint("pair", 2*i+1))
					if x+y < 0 {
						t.Errorf("pair %d is overdrawn: %d and %d", i, x, y)
					}
				}
				epoch = s.Epoch()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		})
	}
	nemesis(t, c, all, rand.New(rand.NewPCG(s, 2)), commits.Load)
	work.over.Store(true)
	work.Wait()
	for _, p := range all {
		_, err := p.Sync(within(t))
		require.NoError(t, err)
		require.Equal(t, records(all[0]), records(p))
		t.Logf("%+v", p.Stats())
	}
	x, _ := all[0].a.Load("x")
	require.GreaterOrEqual(t, x, int(counted.Load()))
	require.LessOrEqual(t, x, int(counted.Load()+unknown.Load()))
}

// Transactions of several processes that read some registers and write others, and views after Sync,
// behave as if they ran one at a time in an order that agrees with real time, while faults are made.
func TestStrictlySerializable(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	c, prefix := start(t, 3, 0), newPrefix()
	var all []*process
	for range 3 {
		all = append(all, open(t, c, prefix, nil))
	}
	began := time.Now()
	var mu sync.Mutex
	var ops []porcupine.Operation
	var commits atomic.Uint64
	var next atomic.Int64
	var work crew
	for n := range 6 {
		p := all[n%len(all)]
		work.run(s+uint64(n), func(r *rand.Rand) {
			in, out := input{reads: r.IntN(1 << registers), writes: r.IntN(1 << registers)}, state{}
			if in.writes != 0 {
				in.value = int(next.Add(1))
			} else {
				in.reads = 1<<registers - 1
			}
			ranged := r.IntN(3) == 0 // the first of what is read, by a loop
			call := time.Since(began)
			var err error
			if in.writes == 0 {
				err = p.ViewFresh(within(t), func(s mvcc.DBSnapshot) error {
					for i := range registers {
						out[i], _ = p.b.At(s).Get(fmt.Sprint("r", i))
					}
					return nil
				})
			} else {
				err = p.Update(within(t), func(tx mvcc.DBTx) error {
					out = state{}
					for i := range registers {
						key := fmt.Sprint("r", i)
						switch {
						case in.reads&(1<<i) == 0:
						case ranged:
							for _, v := range p.b.In(tx).Ascend(mvcc.From(key).UpTo(key)) {
								out[i] = v
							}
						default:
							out[i], _ = p.b.In(tx).Get(key)
						}
					}
					for i := range registers {
						if in.writes&(1<<i) != 0 {
							p.b.In(tx).Set(fmt.Sprint("r", i), in.value)
						}
					}
					return nil
				})
			}
			end := time.Since(began)
			switch {
			case errors.Is(err, etcd.ErrOutcomeUnknown):
				in.open, end = true, time.Hour
			case err != nil:
				return // nothing was done
			}
			if in.writes != 0 {
				commits.Add(1)
			}
			mu.Lock()
			ops = append(ops, porcupine.Operation{ClientId: n, Input: in, Call: int64(call), Output: out,
				Return: int64(end)})
			mu.Unlock()
			time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
		})
	}
	nemesis(t, c, all, rand.New(rand.NewPCG(s, 2)), commits.Load)
	work.over.Store(true)
	work.Wait()
	t.Logf("%d operations", len(ops))
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, ops, patience))
}

const registers = 3

// A state is the values of the registers, 0 where there is none.
type state [registers]int

// An input is a transaction: which registers it reads, which it writes, and what. If it is open it is
// not known whether it was committed, nor what it has read.
type input struct {
	reads, writes, value int
	open                 bool
}

var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, in, out any) (bool, any) {
		now, op := before.(state), in.(input)
		for i := range registers {
			if op.reads&(1<<i) != 0 && !op.open && out.(state)[i] != now[i] {
				return false, before
			}
		}
		for i := range registers {
			if op.writes&(1<<i) != 0 {
				now[i] = op.value
			}
		}
		return true, now
	},
}
