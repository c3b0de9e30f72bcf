package history

import (
	"math/rand/v2"
	"slices"
)

// A sim is a store with several versions of each key that runs random
// transactions, interleaved by chance, on one goroutine. It does what the levels
// promise, but for the faults it is told to have.
type sim struct {
	r        *rand.Rand
	kind     Kind
	keys     int
	txs      int
	open     int // how many transactions are open at a time
	maxOps   int
	snapshot int // percent of the transactions
	blind    int // percent of the writes that read nothing before
	deletes  int // percent of the writes (registers)
	scans    int // percent of the transactions
	final    bool

	fault int // percent of the reads and commits that go wrong

	clock    int64
	versions [][]simVersion // by key
	value    int
	h        *History
}

type simVersion struct {
	at      int64
	list    []int
	value   int
	present bool
}

type simTx struct {
	tx     Tx
	at     int64
	left   int
	writes []int // keys
}

// run returns a history.
func (s *sim) run() *History {
	s.h = &History{Kind: s.kind}
	s.versions = make([][]simVersion, s.keys)
	for k := range s.versions {
		s.versions[k] = []simVersion{{}}
	}
	var open []*simTx
	begun := 0
	for begun < s.txs || len(open) > 0 {
		if begun < s.txs && (len(open) == 0 || len(open) < s.open && s.r.IntN(2) == 0) {
			begun++
			open = append(open, s.begin(begun))
			continue
		}
		i := s.r.IntN(len(open))
		if t := open[i]; t.left > 0 {
			t.left--
			s.op(t)
		} else {
			s.commit(t)
			open = slices.Delete(open, i, i+1)
		}
	}
	if s.final {
		t := s.begin(begun + 1)
		t.tx.Level, t.tx.Scan, t.at = LevelSerializable, false, s.clock
		t.tx.Ops = nil
		for k := range s.keys {
			s.read(t, k, s.clock)
		}
		t.tx.Status, t.tx.End = StatusCommitted, s.tick()
		s.h.Txs = append(s.h.Txs, t.tx)
	}
	return s.h
}

func (s *sim) tick() int64 { s.clock++; return s.clock }

func (s *sim) percent(p int) bool { return s.r.IntN(100) < p }

func (s *sim) begin(id int) *simTx {
	t := &simTx{left: s.r.IntN(s.maxOps) + 1}
	t.tx = Tx{ID: id, Process: id, Level: LevelSerializable, Begin: s.tick()}
	if s.percent(s.snapshot) {
		t.tx.Level = LevelSnapshot
	}
	t.at = s.tick()
	if s.percent(s.scans) {
		t.tx.Scan = true
		for k := range s.keys {
			if v := s.visible(k, t.at); v.present {
				s.read(t, k, t.at)
			}
		}
	}
	return t
}

func (s *sim) visible(k int, at int64) simVersion {
	for i := len(s.versions[k]) - 1; ; i-- {
		if v := s.versions[k][i]; v.at <= at || i == 0 {
			return v
		}
	}
}

// read reads key k: the transaction's own writes on top of what was there.
func (s *sim) read(t *simTx, k int, at int64) {
	v := s.visible(k, at)
	for _, op := range t.tx.Ops {
		if op.Key == k {
			v = after(v, op)
		}
	}
	t.tx.Ops = append(t.tx.Ops, Op{Kind: OpRead, Key: k, Value: v.value, Present: v.present && s.kind == KindRegister, List: v.list})
}

// after returns what the version is after op.
func after(v simVersion, op Op) simVersion {
	switch op.Kind {
	case OpAppend:
		v.list, v.present = append(slices.Clone(v.list), op.Value), true
	case OpWrite:
		v.value, v.present = op.Value, true
	case OpDelete:
		v = simVersion{}
	}
	return v
}

// op runs one random operation.
func (s *sim) op(t *simTx) {
	k, at := s.r.IntN(s.keys), t.at
	if s.percent(s.fault) {
		at = s.r.Int64N(s.clock + 1)
	}
	if s.percent(40) {
		s.read(t, k, at)
		return
	}
	if !s.percent(s.blind) {
		s.read(t, k, at)
	}
	s.value++
	op := Op{Kind: OpAppend, Key: k, Value: s.value}
	if s.kind == KindRegister {
		op.Kind = OpWrite
		if s.percent(s.deletes) {
			op = Op{Kind: OpDelete, Key: k}
		}
	}
	t.tx.Ops = append(t.tx.Ops, op)
	if !slices.Contains(t.writes, k) {
		t.writes = append(t.writes, k)
	}
}

// commit ends a transaction, if it may, with its writes, and records it.
func (s *sim) commit(t *simTx) {
	ok := !s.percent(10)
	if !s.percent(s.fault) {
		ok = ok && s.valid(t)
	}
	at := s.tick()
	if ok || s.percent(s.fault/4) {
		for _, k := range t.writes {
			v := s.visible(k, at)
			if s.percent(s.fault) {
				v = s.visible(k, t.at)
			}
			for _, op := range t.tx.Ops {
				if op.Key == k {
					v = after(v, op)
				}
			}
			v.at = at
			s.versions[k] = append(s.versions[k], v)
		}
	}
	t.tx.End = s.tick()
	t.tx.Status = StatusAborted
	if ok {
		t.tx.Status = StatusCommitted
	}
	if ok && s.percent(5) {
		t.tx.Status = StatusUnknown
	}
	s.h.Txs = append(s.h.Txs, t.tx)
}

// valid reports whether the transaction may commit.
func (s *sim) valid(t *simTx) bool {
	newer := func(k int) bool { return s.versions[k][len(s.versions[k])-1].at > t.at }
	if t.tx.Level == LevelSnapshot {
		return !slices.ContainsFunc(t.writes, newer)
	}
	if len(t.writes) == 0 {
		return true
	}
	for k := range s.keys {
		if t.tx.Scan && newer(k) {
			return false
		}
	}
	return !slices.ContainsFunc(t.tx.Ops, func(op Op) bool { return op.Kind == OpRead && newer(op.Key) })
}

// corrupt changes something in h.
func corrupt(r *rand.Rand, h *History) {
	tx := &h.Txs[r.IntN(len(h.Txs))]
	tx.Ops = slices.Clone(tx.Ops)
	if len(tx.Ops) == 0 {
		return
	}
	i := r.IntN(len(tx.Ops))
	op := &tx.Ops[i]
	switch r.IntN(6) {
	case 0: // swap two reads
		other := &h.Txs[r.IntN(len(h.Txs))]
		for j := range other.Ops {
			if o := &other.Ops[j]; o.Kind == OpRead && op.Kind == OpRead {
				other.Ops = slices.Clone(other.Ops)
				o = &other.Ops[j]
				o.List, op.List = op.List, o.List
				o.Value, op.Value = op.Value, o.Value
				o.Present, op.Present = op.Present, o.Present
				return
			}
		}
	case 1: // drop an operation
		tx.Ops = slices.Delete(tx.Ops, i, i+1)
	case 2: // a read that is too old
		if n := len(op.List); n > 0 {
			op.List = op.List[:n-1]
		}
		op.Present = false
	case 3: // reorder a list
		if n := len(op.List); n > 1 {
			op.List = slices.Clone(op.List)
			op.List[n-1], op.List[n-2] = op.List[n-2], op.List[n-1]
		}
	case 4:
		tx.Status = []Status{StatusCommitted, StatusAborted, StatusUnknown}[r.IntN(3)]
	case 5: // when it was
		other := &h.Txs[r.IntN(len(h.Txs))]
		tx.Begin, other.Begin = other.Begin, tx.Begin
		tx.End, other.End = other.End, tx.End
	}
}
