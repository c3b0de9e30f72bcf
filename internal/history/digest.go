package history

import "slices"

// What a transaction read and wrote, key by key, and whether it agrees with
// itself.

// An access is what one transaction did with one key.
type access struct {
	key     int32
	read    bool // from others, before its own writes
	value   int
	present bool
	list    []int
	missed  bool // by a scan: it found nothing

	wrote    bool
	own      []int // what it appended
	last     int   // what it wrote last
	lastHere bool  // and it was not a delete
}

// digest notes what transaction i read from others and what it wrote.
func (c *checker) digest(i int32) {
	tx := &c.h.Txs[i]
	var accesses []access
	var at map[int32]int
	if len(tx.Ops) > 16 {
		at = make(map[int32]int, len(tx.Ops))
	}
	find := func(k int32) *access {
		if at != nil {
			if j, ok := at[k]; ok {
				return &accesses[j]
			}
			at[k] = len(accesses)
		} else {
			for j := range accesses {
				if accesses[j].key == k {
					return &accesses[j]
				}
			}
		}
		accesses = append(accesses, access{key: k})
		return &accesses[len(accesses)-1]
	}
	for _, op := range tx.Ops {
		a := find(c.keyOf[op.Key])
		if tx.Scan && op.Kind != OpRead && !a.read {
			a.read, a.missed = true, true
		}
		switch op.Kind {
		case OpRead:
			if c.h.Kind == KindAppend {
				c.readList(i, a, op.List)
			} else {
				c.readValue(i, a, op)
			}
		case OpAppend:
			a.wrote, a.lastHere, a.last = true, true, op.Value
			a.own = append(a.own, op.Value)
		case OpWrite:
			a.wrote, a.lastHere, a.last = true, true, op.Value
		case OpDelete:
			a.wrote, a.lastHere, a.last = true, false, 0
		}
	}
	for j := range accesses {
		a := &accesses[j]
		ks := c.keys[a.key]
		wrote := a.wrote && c.txs[i].role == in
		if a.read {
			ks.readers = append(ks.readers, reader{tx: i, writes: wrote, predicate: a.missed,
				value: a.value, present: a.present, list: a.list})
		}
		if wrote {
			ks.writers = append(ks.writers, writer{tx: i, value: a.last, present: a.lastHere, own: a.own})
		}
	}
	if !tx.Scan {
		return
	}
	seen := make([]bool, len(c.keys))
	for j := range accesses {
		seen[accesses[j].key] = true
	}
	for k, ks := range c.keys {
		if !seen[k] {
			ks.readers = append(ks.readers, reader{tx: i, predicate: true})
		}
	}
}

// readList takes a read of a list, which must end with what the transaction has
// appended itself, and begin with what it read before.
func (c *checker) readList(i int32, a *access, list []int) {
	n := len(list) - len(a.own)
	if n < 0 || !slices.Equal(list[n:], a.own) {
		c.wrong("internal", a.key, []int32{i}, "the transaction appended %v and then read %v", a.own, list)
		return
	}
	if a.read && (n != len(a.list) || !samePrefix(list, a.list, n)) {
		c.wrong("internal", a.key, []int32{i}, "the transaction read first %v and then %v from others", a.list, list[:n])
		return
	}
	a.read, a.list = true, list[:n:n]
}

// readValue takes a read of a register.
func (c *checker) readValue(i int32, a *access, op Op) {
	got := Version{op.Value, op.Present}.norm()
	switch {
	case a.wrote:
		if own := (Version{a.last, a.lastHere}); own != got {
			c.wrong("internal", a.key, []int32{i}, "the transaction wrote %v and then read %v", own, got)
		}
	case a.read:
		if before := (Version{a.value, a.present}); before != got {
			c.wrong("internal", a.key, []int32{i}, "the transaction read first %v and then %v", before, got)
		}
	default:
		a.read, a.value, a.present = true, got.Value, got.Present
	}
}

// norm returns v with the value of an absent version set to zero.
func (v Version) norm() Version {
	if !v.Present {
		v.Value = 0
	}
	return v
}

// samePrefix reports whether the first n elements of a and b are the same. Lists
// that share their memory are not looked at.
func samePrefix(a, b []int, n int) bool {
	return n == 0 || &a[0] == &b[0] || slices.Equal(a[:n], b[:n])
}
