package peers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// broken is a peer whose sessions do one thing wrong, once in a while.
type broken struct {
	bench.Engine
	wrap func(s bench.Session) bench.Session
}

func (e *broken) Session(worker int) bench.Session {
	s := e.Engine.Session(worker)
	if _, pins := e.wrap(s).(bench.Pinner); worker < 0 && !pins {
		return s
	}
	return e.wrap(s)
}

// losesPuts loses one write in a hundred.
type losesPuts struct {
	bench.Session
	n int
}

func (s *losesPuts) Put(key string, value uint64) error {
	if s.n++; s.n%100 == 0 {
		return nil
	}
	return s.Session.Put(key, value)
}

// showsOld shows, once in ten times, the first value that it saw of a key.
type showsOld struct {
	bench.Session
	first map[string]uint64
	n     int
}

func (s *showsOld) Get(key string) (uint64, bool, error) {
	v, ok, err := s.Session.Get(key)
	first, seen := s.first[key]
	if !seen {
		s.first[key] = v
	}
	if s.n++; seen && s.n%10 == 0 {
		return first, ok, err
	}
	return v, ok, err
}

// losesTransfers loses one transfer in a hundred.
type losesTransfers struct {
	bench.Session
	bench.Transferer
	n int
}

func (s *losesTransfers) Transfer(from, to string, amount uint64) error {
	if s.n++; s.n%100 == 0 {
		return nil
	}
	return s.Transferer.Transfer(from, to, amount)
}

// tearsTransfers pays out in one transaction and pays in in another, and once in
// a hundred times does not come to that.
type tearsTransfers struct {
	bench.Session
	bench.Transferer
	add bench.Incrementer
	n   int
}

func (s *tearsTransfers) Transfer(from, to string, amount uint64) error {
	if _, err := s.add.Add(from, -amount); err != nil {
		return err
	}
	if s.n++; s.n%100 == 0 {
		return nil
	}
	_, err := s.add.Add(to, amount)
	return err
}

// losesCounts writes what it has read some time ago.
type losesCounts struct {
	bench.Session
	n int
}

func (s *losesCounts) Add(key string, delta uint64) (uint64, error) {
	v, _, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if s.n++; s.n%100 != 0 {
		err = s.Put(key, v+delta)
	}
	return v + delta, err
}

// losesOps leaves out the last operation of one transaction in a hundred.
type losesOps struct {
	bench.Session
	bench.Batcher
	n int
}

func (s *losesOps) Batch(ops []bench.Op, readOnly bool) error {
	if s.n++; !readOnly && s.n%100 == 0 {
		ops = ops[:len(ops)-1]
	}
	return s.Batcher.Batch(ops, readOnly)
}

// pinsNothing has snapshots that go on with the map.
type pinsNothing struct{ bench.Session }

func (s pinsNothing) Pin() (bench.PinOf[string, uint64], error) { return s, nil }
func (s pinsNothing) Close()                                    {}

// An adapter that were as wrong as these would not pass.
func TestBrokenAdaptersAreCaught(t *testing.T) {
	for _, p := range Peers() {
		for _, c := range []struct {
			workload string
			fault    string
			wrap     func(s bench.Session) bench.Session
		}{
			{"disjoint", "loses writes", func(s bench.Session) bench.Session { return &losesPuts{Session: s} }},
			{"balanced", "shows old values", func(s bench.Session) bench.Session {
				return &showsOld{Session: s, first: map[string]uint64{}}
			}},
			{"transfer", "loses transfers", func(s bench.Session) bench.Session {
				return &losesTransfers{Session: s, Transferer: s.(bench.Transferer)}
			}},
			{"transfer", "tears transfers", func(s bench.Session) bench.Session {
				add, ok := s.(bench.Incrementer)
				if !ok {
					return &losesTransfers{Session: s, Transferer: s.(bench.Transferer)}
				}
				return &tearsTransfers{Session: s, Transferer: s.(bench.Transferer), add: add}
			}},
			{"free-batch", "loses writes of transactions", func(s bench.Session) bench.Session {
				return &losesOps{Session: s, Batcher: s.(bench.Batcher)}
			}},
			{"long-reader", "has no snapshots", func(s bench.Session) bench.Session { return pinsNothing{s} }},
			{"counter", "loses increments", func(s bench.Session) bench.Session { return &losesCounts{Session: s} }},
		} {
			w, _ := bench.WorkloadByName(c.workload)
			if _, ok := p.Runs(w); !ok {
				continue
			}
			spec := p.EngineSpec
			spec.New = func(setup bench.Setup) (bench.Engine, error) {
				e, err := p.New(setup)
				return &broken{e, c.wrap}, err
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
