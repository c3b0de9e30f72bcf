package peers

import (
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/bench"
)

// A Peer is an engine with what must be known to compare it.
type Peer struct {
	bench.EngineSpec

	// Module is the path of the module it comes from; empty for what comes
	// with Go or with this repository.
	Module string

	// Isolation says in a few words what its transactions guarantee, as the
	// adapter uses it; Caveat, if it is not empty, what else must be known of
	// that, as one sentence without the full stop.
	Isolation string
	Caveat    string
}

// Peers returns the peers that come from modules of their own, in the order in
// which they are listed.
func Peers() []Peer {
	list := []Peer{badgerPeer(), memdbPeer(), buntdbPeer(), bboltPeer(), btreePeer()}
	for i := range list {
		lacks := map[string]string{
			"watched": "it gives nobody its commits, whole and in order",
			"journaled": "it is measured in memory; go test -bench Durable ./peers has those that keep " +
				"things on disk",
			"expiring": "its records are made without an end",
		}
		maps.Copy(lacks, list[i].Lacks)
		list[i].Lacks = lacks
	}
	return list
}

// builtin is the isolation of the engines of package bench.
var builtin = map[string]string{
	"mvcc":        "strictly serializable",
	"mvcc-direct": "one key at a time",
	"mutex":       "serial: one lock",
	"rwmutex":     "serial: one lock",
	"sync.Map":    "one key at a time",
	"xsync":       "one key at a time",
}

// All returns the engines of package bench and, after them, the peers.
func All() []Peer {
	var list []Peer
	for _, spec := range bench.Engines() {
		p := Peer{EngineSpec: spec, Isolation: builtin[spec.Name]}
		if spec.Name == "xsync" {
			p.Module = "github.com/puzpuzpuz/xsync/v4"
		}
		list = append(list, p)
	}
	return append(list, Peers()...)
}

// Engines returns the specs of all engines, those of package bench first, with
// what they isolate in the Doc of the peers.
func Engines() []bench.EngineSpec {
	list := bench.Engines()
	for _, p := range Peers() {
		spec := p.EngineSpec
		spec.Doc += ". Isolation: " + p.Isolation
		if p.Caveat != "" {
			spec.Doc += ". " + p.Caveat
		}
		list = append(list, spec)
	}
	return list
}

// ByName returns the engine called name, of package bench or a peer.
func ByName(name string) (Peer, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return all[i], true
}

// A txn is a session of a store, with the transaction that it has open.
//
// It changes no figure. A call through it takes a few nanoseconds, and an operation of the fastest
// store hundreds. Nor does it allocate: a closure that is passed through an interface is allocated
// each time, so each session opens its transactions itself, in Batch.
type txn[V any] interface {
	// Batch calls apply in a transaction.
	bench.Batcher[V]

	get(key string) (value V, ok bool, err error)
	has(key string) (bool, error)
	// put writes key; found says that get has just found it.
	put(key string, value V, found bool) error
	remove(key string) error
}

// opAdd adds Value to the number of Key, which must be there, and sets Old to the sum.
const opAdd = bench.OpDelete + 1

// apply does ops in the transaction that tx has open.
func apply[V any](tx txn[V], ops []bench.Op[V]) (err error) {
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case bench.OpGet, bench.OpModify, opAdd:
			op.Old, op.OK, err = tx.get(op.Key)
		case bench.OpHas:
			op.OK, err = tx.has(op.Key)
		case bench.OpPut:
			err = tx.put(op.Key, op.Value, false)
		case bench.OpDelete:
			err = tx.remove(op.Key)
		}
		switch {
		case err != nil:
			return err
		case op.Kind == bench.OpModify:
			err = tx.put(op.Key, op.Value, op.OK)
		case op.Kind == opAdd && !op.OK:
			err = errNoSuchKey(op.Key)
		case op.Kind == opAdd:
			*number(&op.Old) += *number(&op.Value)
			err = tx.put(op.Key, op.Old, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// number returns v as a pointer to a number, which it must be.
func number[V any](v *V) *uint64 {
	n, _ := any(v).(*uint64)
	return n
}

// singles makes batches of the operations of a session on one or two keys. It is padded: sessions
// of different goroutines must not share a cache line.
type singles[V any] struct {
	_    [128]byte
	self txn[V] // the session
	ops  [2]bench.Op[V]
	_    [128]byte
}

func (s *singles[V]) Get(key string) (V, bool, error) {
	s.ops[0] = bench.Op[V]{Kind: bench.OpGet, Key: key}
	err := s.self.Batch(s.ops[:1], true)
	return s.ops[0].Old, s.ops[0].OK, err
}

func (s *singles[V]) Put(key string, value V) error {
	s.ops[0] = bench.Op[V]{Kind: bench.OpPut, Key: key, Value: value}
	return s.self.Batch(s.ops[:1], false)
}

func (s *singles[V]) Add(key string, delta uint64) (uint64, error) {
	s.add(0, key, delta)
	err := s.self.Batch(s.ops[:1], false)
	return *number(&s.ops[0].Old), err
}

func (s *singles[V]) Transfer(from, to string, amount uint64) error {
	s.add(0, from, -amount)
	s.add(1, to, amount)
	return s.self.Batch(s.ops[:], false)
}

func (s *singles[V]) add(i int, key string, delta uint64) {
	s.ops[i] = bench.Op[V]{Kind: opAdd, Key: key}
	*number(&s.ops[i].Value) = delta
}
