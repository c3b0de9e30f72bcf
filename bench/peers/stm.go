package peers

import (
	"errors"

	"github.com/anacrolix/stm"

	"github.com/mvccmap/mvccmap/bench"
)

func stmPeer() Peer {
	return Peer{
		Module:    "github.com/anacrolix/stm",
		Isolation: "serializable at commit",
		Caveat: "A transaction that is running may see one value from before a commit and another " +
			"from after it; it is then run again",
		EngineSpec: bench.EngineSpec{
			Name: "stm",
			Doc: "Software transactional memory: a Go map that nobody changes, of transactional " +
				"variables; single reads and blind writes by AtomicGet and AtomicSet",
			Lacks: map[string]string{
				"free-batch":  "its keys are fixed: it has variables, and no map of them that is fast",
				"long-reader": "it has no snapshots",
				"range-read":  "its variables have no order",
			},
			New:      newSTM[uint64],
			NewBytes: newSTM[[]byte],
		},
	}
}

// stmEngine has a variable for each key.
type stmEngine[V any] struct {
	vars    map[string]*stm.Var[V]
	numbers map[string]*stm.Var[uint64] // vars, if values are numbers
	bench.Limits
}

func newSTM[V any](setup bench.Setup[V]) (bench.Engine[V], error) {
	e := &stmEngine[V]{vars: make(map[string]*stm.Var[V], len(setup.Keys)), Limits: setup.Limits}
	for i, k := range setup.Keys {
		e.vars[k] = stm.NewVar(setup.Values[i])
	}
	e.numbers, _ = any(e.vars).(map[string]*stm.Var[uint64])
	return e, nil
}

func (e *stmEngine[V]) Session(int) bench.Session[V] { return &stmSession[V]{stmEngine: e} }
func (e *stmEngine[V]) Close()                       {}

type stmSession[V any] struct {
	bench.Attempts
	*stmEngine[V]
}

// atomically runs fn until it has committed. The module retries by itself,
// without end; so when there must be no further attempt, the next one does
// nothing, which always commits.
func (s *stmSession[V]) atomically(fn func(tx *stm.Tx)) error {
	attempts := 0
	err := stm.Atomically(func(tx *stm.Tx) error {
		if attempts > 0 {
			if err := s.Over(attempts); err != nil {
				return err
			}
		}
		attempts++
		s.Tries++
		fn(tx)
		return nil
	})
	if err == nil {
		s.Commits++
	}
	return err
}

func (s *stmSession[V]) Get(key string) (value V, ok bool, err error) {
	v := s.vars[key]
	if v == nil {
		return value, false, nil
	}
	return stm.AtomicGet(v), true, nil
}

func (s *stmSession[V]) Put(key string, value V) error {
	v := s.vars[key]
	if v == nil {
		return errNoSuchKey(key)
	}
	stm.AtomicSet(v, value)
	return nil
}

func (s *stmSession[V]) Begin() error {
	return s.atomically(func(*stm.Tx) {})
}

var errSTMDelete = errors.New("peers: stm has no keys that can be deleted")

func (s *stmSession[V]) Batch(ops []bench.Op[V], _ bool) error {
	for i := range ops {
		op := &ops[i]
		switch there := s.vars[op.Key] != nil; {
		case op.Kind == bench.OpDelete:
			return errSTMDelete
		case op.Kind == bench.OpGet || op.Kind == bench.OpHas:
			op.OK = there
		case !there:
			return errNoSuchKey(op.Key)
		case op.Kind == bench.OpModify:
			op.OK = true
		}
	}
	return s.atomically(func(tx *stm.Tx) {
		for i := range ops {
			op := &ops[i]
			v := s.vars[op.Key]
			if v == nil {
				continue
			}
			if op.Kind == bench.OpGet || op.Kind == bench.OpModify {
				op.Old = v.Get(tx)
			}
			if op.Kind == bench.OpPut || op.Kind == bench.OpModify {
				v.Set(tx, op.Value)
			}
		}
	})
}

func (s *stmSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	v := s.numbers[key]
	if v == nil {
		return 0, errNoSuchKey(key)
	}
	err = s.atomically(func(tx *stm.Tx) {
		sum = v.Get(tx) + delta
		v.Set(tx, sum)
	})
	return sum, err
}

func (s *stmSession[V]) Transfer(from, to string, amount uint64) error {
	a, b := s.numbers[from], s.numbers[to]
	if a == nil || b == nil {
		return errNoSuchKey(from + " or " + to)
	}
	return s.atomically(func(tx *stm.Tx) {
		a.Set(tx, a.Get(tx)-amount)
		b.Set(tx, b.Get(tx)+amount)
	})
}

func (s *stmSession[V]) Sum() (total uint64, keys int, err error) {
	err = s.atomically(func(tx *stm.Tx) {
		total, keys = 0, 0
		for _, v := range s.numbers {
			total += v.Get(tx)
			keys++
		}
	})
	return total, keys, err
}
