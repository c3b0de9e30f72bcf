package peers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

type (
	engine  = bench.Engine[uint64]
	session = bench.Session[uint64]
	op      = bench.Op[uint64]
)

// broken is a peer whose sessions, but for the runner's, do one thing wrong, once in a
// while.
type broken struct {
	engine
	fault string
}

func (e broken) Session(worker int) session {
	s := e.engine.Session(worker)
	if worker < 0 {
		return s
	}
	return &faulty{session: s, fault: e.fault, first: map[string]uint64{}}
}

type faulty struct {
	session
	fault string
	n     int
	first map[string]uint64 // the first value that it saw of a key
}

// now reports, if the fault is the one called so, whether it is time for it.
func (s *faulty) now(fault string, every int) bool {
	if s.fault != fault {
		return false
	}
	s.n++
	return s.n%every == 0
}

func (s *faulty) Put(key string, value uint64) error {
	if s.now("loses writes", 100) {
		return nil
	}
	return s.session.Put(key, value)
}

func (s *faulty) Get(key string) (uint64, bool, error) {
	v, ok, err := s.session.Get(key)
	first, seen := s.first[key]
	if !seen {
		s.first[key] = v
	} else if s.now("shows old values", 10) {
		v = first
	}
	return v, ok, err
}

func (s *faulty) Add(key string, delta uint64) (uint64, error) {
	if s.fault != "loses increments" {
		return s.session.(bench.Incrementer).Add(key, delta)
	}
	v, _, err := s.session.Get(key) // and writes what it has read some time ago
	if err == nil && !s.now(s.fault, 100) {
		err = s.session.Put(key, v+delta)
	}
	return v + delta, err
}

func (s *faulty) Transfer(from, to string, amount uint64) error {
	add, ok := s.session.(bench.Incrementer)
	switch {
	case s.now("loses transfers", 100):
		return nil
	case s.fault == "tears transfers" && ok: // it pays out in one transaction and pays in in another
		if _, err := add.Add(from, -amount); err != nil || s.now(s.fault, 100) {
			return err
		}
		_, err := add.Add(to, amount)
		return err
	case s.now("tears transfers", 100):
		return nil
	}
	return s.session.(bench.Transferer).Transfer(from, to, amount)
}

func (s *faulty) Sum() (uint64, int, error) { return s.session.(bench.Transferer).Sum() }

func (s *faulty) Batch(ops []op, readOnly bool) error {
	if !readOnly && s.now("loses writes of transactions", 100) {
		ops = ops[:len(ops)-1]
	}
	return s.session.(bench.Batcher[uint64]).Batch(ops, readOnly)
}

// Pin opens a snapshot that goes on with the map.
func (s *faulty) Pin() (bench.Pin[uint64], error) { return s, nil }
func (s *faulty) Close()                          {}

// An adapter that were as wrong as these would not pass.
func TestBrokenAdaptersAreCaught(t *testing.T) {
	for _, p := range Peers() {
		for _, c := range []struct{ workload, fault string }{
			{"disjoint", "loses writes"},
			{"balanced", "shows old values"},
			{"transfer", "loses transfers"},
			{"transfer", "tears transfers"},
			{"free-batch", "loses writes of transactions"},
			{"long-reader", "has no snapshots"},
			{"counter", "loses increments"},
		} {
			w, _ := bench.WorkloadByName(c.workload)
			if _, ok := p.Runs(w); !ok {
				continue
			}
			spec := p.EngineSpec
			spec.New = func(setup bench.Setup[uint64]) (engine, error) {
				e, err := p.New(setup)
				return broken{e, c.fault}, err
			}
			tr := trial(t, spec, w, 2)
			_, err := tr.RunOps(t.Context(), 1_000)
			if err == nil {
				err = tr.Verify()
			}
			var v *bench.Violation
			require.ErrorAs(t, err, &v, "%s that %s, under %s", p.Name, c.fault, c.workload)
			tr.Close()
		}
	}
}
