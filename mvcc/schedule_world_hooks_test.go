//go:build mvcccheck

package mvcc

import (
	"fmt"
	"iter"
	"maps"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// A world is a map, or the tables of a database, for the programs of a scenario. Either has a map
// for each key.
type world struct {
	db   *DB
	maps []*Map[int, int]
	of   [len(programKeys)]*Map[int, int]
	// ix is an index of the values, if there is a single table, and has is when it is
	// complete.
	ix  *Index[int, int, int]
	has bool
	// follower is the one that watches, if any does.
	follower *follower
	// refused is when the records of keys were due that were refused.
	refused map[int]int64
}

func newWorld(opts *Options, tables, single, ordered bool) *world {
	w := &world{}
	if tables || single {
		w.db = NewDB(opts)
	}
	by := func() *order {
		if !ordered {
			return nil
		}
		return naturalOrder(reflect.TypeFor[int]())
	}
	for i := range w.of {
		switch {
		case !tables && i > 0 || tables && i == len(w.of)-1:
			w.of[i] = w.of[i-1]
			continue
		case w.db != nil:
			w.of[i] = mapOf[int, int](addTable(w.db, fmt.Sprint(i), nil, by(), recordTypeOf[int, int](), false))
		default:
			w.of[i] = newAlone(opts, by(), recordTypeOf[int, int]()).(*Map[int, int])
		}
		m := w.of[i]
		m.index.Hash = orderlyHash()
		m.index.Remake(2) // a scan has fewer steps
		w.maps = append(w.maps, m)
	}
	if single {
		w.makeIndex()
	}
	return w
}

// makeIndex makes the index, whose order and hashes are the same every time.
func (w *world) makeIndex() {
	values := func(_, value int) []int { return []int{value} }
	w.ix = makeIndex(w.maps[0], "test", "values", naturalOrder(reflect.TypeFor[int]()), values, nil)
	w.ix.collation.key = w.ix.order
	x := coreAt(w.ix.table).index
	x.Hash = hasher.Given(func(e entry[int, int]) uint64 {
		return uint64(e.index<<8|e.key) * 0x9e3779b97f4a7c15
	})
}

// buildIndex builds the index.
func (w *world) buildIndex() {
	if err := w.ix.build(); err != nil {
		panic(err)
	}
	w.has = true
}

// byIndex returns the records that r sees through the index, and false if that was not complete
// when r began. A record that is found where it does not belong has a value that nobody wrote.
func (w *world) byIndex(r Reader[int, int]) (all iter.Seq2[int, int], ok bool) {
	if w.ix == nil || !w.has || r.Epoch() < w.ix.since.Load() {
		return nil, false
	}
	return func(yield func(int, int) bool) {
		in := w.ix.open(r, forProgram)
		defer in.closeOwn()
		see := func(index, key, value int, ok bool) bool {
			if !ok {
				key = 0
			}
			if value != index || !ok {
				value = misplaced
			}
			return yield(key, value)
		}
		if in.tx {
			w.ix.walk(in, &stretch[int, int]{}, func(index, key int) bool {
				value, ok := w.ix.record(in, key)
				return see(index, key, value, ok)
			})
			return
		}
		w.ix.loopSeen(in, &stretch[int, int]{}, func(e *entry[int, int], v *chain.Node) bool {
			value, ok := chain.Present[int, int](v)
			return see(e.index, e.key, value, ok)
		})
	}, true
}

const misplaced = -77

func (w *world) close() {
	if w.db != nil {
		w.db.Close()
		return
	}
	w.of[0].Close()
}

// newStates returns idle states for one actor.
func (w *world) newStates() (states []any) {
	if w.db == nil {
		return []any{coreOf(w.of[0]).newState()}
	}
	up := dbAt(w.db).root.newState()
	for _, m := range w.maps {
		states = append(states, coreOf(m).newState())
	}
	return append(states, up)
}

func (w *world) snapshot() (in func(key int) Reader[int, int], end func()) {
	if w.db == nil {
		s := w.of[0].Snapshot()
		return func(int) Reader[int, int] { return s }, s.Close
	}
	s := w.db.Snapshot()
	return func(key int) Reader[int, int] { return w.of[key].At(s) }, s.Close
}

func (w *world) snapshotAt(at uint64) (in func(key int) Reader[int, int],
	end func(), err error) {
	if w.db == nil {
		s, err := w.of[0].SnapshotAt(at)
		return func(int) Reader[int, int] { return s }, s.Close, err
	}
	s, err := w.db.SnapshotAt(at)
	return func(key int) Reader[int, int] { return w.of[key].At(s) }, s.Close, err
}

// begin begins a transaction, which may have an alarm from the first.
func (w *world) begin(
	opts *TxOptions, alarmed bool,
) (in func(key int) Tx[int, int], commit func() error) {
	revoked := 0
	if alarmed {
		revoked = maxRevocations
	}
	if w.db == nil {
		tx := w.of[0].Begin(opts)
		stateOf(tx.st).rare().revoked = revoked
		return func(int) Tx[int, int] { return tx }, tx.Commit
	}
	tx := w.db.Begin(opts)
	stateOf(tx.st).rare().revoked = revoked
	return func(key int) Tx[int, int] { return w.of[key].In(tx) }, tx.Commit
}

func (w *world) update(opts *TxOptions, fn func(in func(key int) Tx[int, int])) error {
	if w.db == nil {
		return w.of[0].Update(bg, opts, func(tx Tx[int, int]) error {
			fn(func(int) Tx[int, int] { return tx })
			return nil
		})
	}
	return w.db.Update(bg, opts, func(tx DBTx) error {
		fn(func(key int) Tx[int, int] { return w.of[key].In(tx) })
		return nil
	})
}

// resize moves the keys to a table of so many times as many buckets, and at least two.
func (w *world) resize(times, of int) {
	x := w.maps[0].index
	x.ResizeTo(max(2, x.Size()*times/of))
}

// atMove stops one that moves buckets before its next step: its effect on cells is announced
// nowhere else.
func (s *scheduler) atMove(p hooks.Point) {
	switch p {
	case hooks.CellFilled, hooks.CellsMoved, hooks.BucketMoved, hooks.TableReplaced:
		if s.Owns() {
			s.moves.Look()
			s.stop(move, noObject)
		}
	}
}

// A follower watches all keys of a world, in rounds that the program makes.
type follower struct {
	began   []Snapshot[int, int] // of each map, when the watch began
	commits []DBCommit
}

func (f *follower) only() *core { return nil }
func (f *follower) lose()       { panic("it was lost") }
func (f *follower) dropped()    { panic("it was dropped") }

func (f *follower) offer(list []DBCommit) bool {
	f.commits = append(f.commits, list...)
	return true
}

func (w *world) hub() *hub { return &coreOf(w.maps[0]).shared.hub }

// follow begins to watch.
func (w *world) follow() {
	f := &follower{}
	w.hub().begin(f, func() {
		for _, m := range w.maps {
			coreOf(m).feedForAll()
		}
	}, func(at uint64) {
		for _, m := range w.maps {
			f.began = append(f.began, Snapshot[int, int](coreOf(m).snapshotAtHub(at)))
		}
	})
	w.follower = f
}

// hand makes a round.
func (w *world) hand() {
	h := w.hub()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.round()
}

// endFollow ends the watch, if there is one, and returns the error in its changes: they must lead
// from the first records to the present ones, and those of each operation must come in one commit.
func (w *world) endFollow() error {
	f := w.follower
	if f == nil {
		return nil
	}
	w.hand()
	defer w.hub().end(f)
	in := map[int]uint64{} // commits by the value that they give keys
	for i, m := range w.maps {
		r := newReplica(f.began[i])
		f.began[i].Close()
		for _, c := range f.commits {
			changes := m.Changes(c)
			if len(changes) == 0 {
				continue
			}
			if err := r.apply(c.Epoch, changes, false); err != nil {
				return err
			}
			for _, change := range changes {
				if at, met := in[change.New]; change.Has && met && at != c.Epoch {
					return fmt.Errorf("%d is told of in two commits, %d and %d", change.New, at, c.Epoch)
				}
				in[change.New] = c.Epoch
			}
		}
		if now := maps.Collect(m.All()); !maps.Equal(now, r.have) {
			return fmt.Errorf("by the changes there is %v, and there is %v", r.have, now)
		}
	}
	return nil
}
