package bench

import "github.com/puzpuzpuz/xsync/v4"

// xsyncEngine is an xsync.Map: no isolation beyond one key.
type xsyncEngine struct {
	m *xsync.Map[string, uint64]
}

func newXsync(setup Setup) (Engine, error) {
	e := &xsyncEngine{m: xsync.NewMap[string, uint64](xsync.WithPresize(len(setup.Keys)))}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e, nil
}

func (e *xsyncEngine) Session(int) Session { return xsyncSession{e.m} }
func (e *xsyncEngine) Close()              {}

// xsyncSession never aborts, so it has no state.
type xsyncSession struct{ m *xsync.Map[string, uint64] }

func (s xsyncSession) Aborts() uint64 { return 0 }

func (s xsyncSession) Get(key string) (uint64, bool, error) {
	v, ok := s.m.Load(key)
	return v, ok, nil
}

func (s xsyncSession) Put(key string, value uint64) error {
	s.m.Store(key, value)
	return nil
}

func (s xsyncSession) Add(key string, delta uint64) (uint64, error) {
	sum, _ := s.m.Compute(key, func(old uint64, _ bool) (uint64, xsync.ComputeOp) {
		return old + delta, xsync.UpdateOp
	})
	return sum, nil
}
