package history

import "slices"

// A checker that tries all orders, for small histories: slow, and right by
// inspection. It follows the definition in the package comment.

// A bruteState is the state of the map between two moments.
type bruteState struct {
	lists  map[int][]int
	values map[int]int
	writes map[int]int // how often each key was written
}

func (s *bruteState) clone() *bruteState {
	c := &bruteState{lists: map[int][]int{}, values: map[int]int{}, writes: map[int]int{}}
	for k, v := range s.lists {
		c.lists[k] = v
	}
	for k, v := range s.values {
		c.values[k] = v
	}
	for k, v := range s.writes {
		c.writes[k] = v
	}
	return c
}

// apply runs the operations of tx on s, and reports whether all reads find what
// they found.
func (s *bruteState) apply(h *History, tx *Tx, keys []int) bool {
	read := map[int]bool{}
	if tx.Scan {
		for _, op := range tx.Ops {
			read[op.Key] = read[op.Key] || op.Kind == OpRead
			if op.Kind != OpRead && !read[op.Key] && !s.absent(op.Key) {
				return false
			}
		}
		for _, key := range keys {
			if !slices.ContainsFunc(tx.Ops, func(op Op) bool { return op.Key == key }) && !s.absent(key) {
				return false
			}
		}
	}
	for _, op := range tx.Ops {
		switch op.Kind {
		case OpRead:
			if h.Kind == KindAppend {
				if !slices.Equal(s.lists[op.Key], op.List) {
					return false
				}
				continue
			}
			if value, ok := s.values[op.Key]; ok != op.Present || ok && value != op.Value {
				return false
			}
		case OpAppend:
			s.lists[op.Key] = append(slices.Clone(s.lists[op.Key]), op.Value)
			s.writes[op.Key]++
		case OpWrite:
			s.values[op.Key] = op.Value
			s.writes[op.Key]++
		case OpDelete:
			delete(s.values, op.Key)
			s.writes[op.Key]++
		}
	}
	return true
}

func (s *bruteState) absent(key int) bool {
	_, ok := s.values[key]
	return !ok && len(s.lists[key]) == 0
}

// bruteForce reports whether some order of the moments of the transactions
// explains h.
func bruteForce(h *History, o Options) bool {
	var unknown []int
	var keys []int
	for i := range h.Txs {
		if h.Txs[i].Status == StatusUnknown {
			unknown = append(unknown, i)
		}
		for _, op := range h.Txs[i].Ops {
			if !slices.Contains(keys, op.Key) {
				keys = append(keys, op.Key)
			}
		}
	}
	for committed := range 1 << len(unknown) {
		var txs []*bruteTx
		for i := range h.Txs {
			tx := &h.Txs[i]
			b := &bruteTx{tx: tx, end: tx.End}
			switch tx.Status {
			case StatusAborted:
				if !o.Opacity {
					continue
				}
				b.readOnly = true
			case StatusUnknown:
				if committed>>slices.Index(unknown, i)&1 == 0 {
					continue
				}
				b.end = tx.latest()
			}
			b.split = o.Promise == Snapshot && tx.Level == LevelSnapshot && !b.readOnly && hasBoth(h.Kind, tx)
			txs = append(txs, b)
		}
		if explain(h, keys, txs, &bruteState{}) {
			return true
		}
	}
	return false
}

type bruteTx struct {
	tx       *Tx
	end      int64
	readOnly bool
	split    bool
	placed   int // how many of its moments are in the order
	writes   map[int]int
}

func (b *bruteTx) moments() int {
	if b.split {
		return 2
	}
	return 1
}

// hasBoth reports whether tx reads what is not its own, and writes.
func hasBoth(kind Kind, tx *Tx) bool {
	reads, writes := tx.Scan, false
	wrote := map[int]bool{}
	for _, op := range tx.Ops {
		if op.Kind == OpRead {
			reads = reads || kind == KindAppend || !wrote[op.Key]
		} else {
			wrote[op.Key], writes = true, true
		}
	}
	return reads && writes
}

func explain(h *History, keys []int, txs []*bruteTx, s *bruteState) bool {
	left := false
	for _, b := range txs {
		if b.placed == b.moments() {
			continue
		}
		left = true
		if b.placed == 0 && slices.ContainsFunc(txs, func(a *bruteTx) bool { return a.end < b.tx.Begin && a.placed < a.moments() }) {
			continue
		}
		after := s.clone()
		ok := true
		if b.split && b.placed == 1 {
			// The writes: nobody else has written these keys since.
			for _, op := range b.tx.Ops {
				ok = ok && (op.Kind == OpRead || s.writes[op.Key] == b.writes[op.Key])
			}
			if ok {
				writes := &Tx{Ops: slices.DeleteFunc(slices.Clone(b.tx.Ops), func(op Op) bool { return op.Kind == OpRead })}
				after.apply(h, writes, keys)
			}
		} else {
			ok = after.apply(h, b.tx, keys)
			if b.split || b.readOnly {
				after = s
			}
		}
		if !ok {
			continue
		}
		was := b.writes
		if b.split && b.placed == 0 {
			b.writes = s.clone().writes
		}
		b.placed++
		if explain(h, keys, txs, after) {
			b.placed--
			return true
		}
		b.placed--
		b.writes = was
	}
	return !left
}
