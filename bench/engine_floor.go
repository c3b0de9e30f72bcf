package bench

import (
	"fmt"

	"github.com/mvccmap/mvccmap/bench/internal/floor"
)

// floorEngine is the bare protocol: what no map of this design can be faster
// than.
type floorEngine struct {
	m       *floor.Map
	limit   int // attempts at an operation; 0: without end
	stopped func() bool
}

func newFloor(setup Setup) (Engine, error) {
	return &floorEngine{m: floor.New(setup.Keys, setup.Values), limit: setup.Attempts, stopped: setup.Stopped}, nil
}

func (e *floorEngine) Session(int) Session {
	s := &floorSession{floorEngine: e}
	s.again = func(lost int) bool {
		switch {
		case lost == e.limit:
			s.over = ErrGaveUp
		case e.stopped():
			s.over = ErrStopped
		}
		return s.over == nil
	}
	return s
}
func (e *floorEngine) Close() {}

type floorSession struct {
	counted
	*floorEngine
	again func(lost int) bool
	over  error // why an operation is not attempted again
}

func (s *floorSession) Get(key string) (uint64, bool, error) {
	tx := s.m.Begin()
	v, ok := s.m.Get(tx, key)
	s.m.End(tx)
	return v, ok, nil
}

func (s *floorSession) Put(key string, value uint64) error {
	if !s.m.Put(key, value) {
		return errNoSuchKey(key)
	}
	return nil
}

func (s *floorSession) Add(key string, delta uint64) (uint64, error) {
	s.over = nil
	sum, lost, ok := s.m.Add(key, delta, s.again)
	s.tries += uint64(lost)
	switch {
	case s.over != nil:
		return 0, s.over
	case !ok:
		return 0, errNoSuchKey(key)
	}
	s.tries++
	s.commits++
	return sum, nil
}

func (s *floorSession) Begin() error {
	s.m.End(s.m.Begin())
	return nil
}

// Pin implements [Pinner]: a transaction that stays open.
func (s *floorSession) Pin() (PinOf[string, uint64], error) {
	return floorPin{s.m, s.m.Begin()}, nil
}

type floorPin struct {
	m  *floor.Map
	tx *floor.Tx
}

func (p floorPin) Get(key string) (uint64, bool, error) {
	v, ok := p.m.Get(p.tx, key)
	return v, ok, nil
}

func (p floorPin) Close() { p.m.End(p.tx) }

func errNoSuchKey(key string) error {
	return fmt.Errorf("bench: the map was made without key %q", key)
}
