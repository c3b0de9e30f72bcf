package history

import "slices"

// This file collects what a transaction read and wrote, key by key, and checks that it agrees with
// itself.

// An access is what one transaction did with one key.
type access struct {
	key   int32
	read  bool // from others, before its own writes
	value Version
	list  []int

	update bool // one of these reads was for an update

	wrote bool
	other bool    // not only by merges
	own   []int   // what it appended
	last  Version // what it wrote last
}

// digest notes what transaction i read from others and what it wrote.
func (c *checker) digest(i int32) {
	var accesses []access
	at := map[int32]int{}
	for _, op := range c.h.Txs[i].Ops {
		k := c.keyOf[op.Key]
		j, ok := at[k]
		if !ok {
			j = len(accesses)
			at[k] = j
			accesses = append(accesses, access{key: k})
		}
		a := &accesses[j]
		a.other = a.other || op.Kind.writes() && op.Kind != OpMerge
		a.update = a.update || op.Update && !a.wrote
		switch {
		case op.Kind == OpDelete:
			a.wrote, a.last = true, Version{}
		case op.Kind.writes():
			a.wrote, a.last = true, Version{op.Value, true}
			a.own = append(a.own, op.Value)
		case c.h.Kind == KindAppend:
			c.readList(i, a, op.List)
		default:
			c.readValue(i, a, op)
		}
	}
	for _, a := range accesses {
		ks := c.keys[a.key]
		wrote := a.wrote && c.committed(i)
		if a.read {
			ks.readers = append(ks.readers, reader{
				tx: i, writes: wrote && a.other, update: a.update, value: a.value, list: a.list,
			})
		}
		if wrote {
			ks.writers = append(ks.writers, writer{tx: i, value: a.last, own: a.own})
			for _, value := range a.own {
				c.writeOf(a.key, value).merge = !a.other
			}
		}
	}
}

// readList takes a read of a list, which must end with what the transaction has
// appended itself, and begin with what it read before.
func (c *checker) readList(i int32, a *access, list []int) {
	n := len(list) - len(a.own)
	if n < 0 || !slices.Equal(list[n:], a.own) {
		c.wrong("internal", a.key, []int32{i}, "the transaction appended %v and then read %v",
			a.own, list)
		return
	}
	if a.read && (n != len(a.list) || !samePrefix(list, a.list, n)) {
		c.wrong("internal", a.key, []int32{i}, "the transaction read first %v and then %v from others",
			a.list, list[:n])
		return
	}
	a.read, a.list = true, list[:n:n]
}

// readValue takes a read of a register.
func (c *checker) readValue(i int32, a *access, op Op) {
	got := op.version()
	switch {
	case a.wrote:
		if a.last != got {
			c.wrong("internal", a.key, []int32{i}, "the transaction wrote %v and then read %v", a.last, got)
		}
	case a.read:
		if a.value != got {
			c.wrong("internal", a.key, []int32{i}, "the transaction read first %v and then %v", a.value, got)
		}
	default:
		a.read, a.value = true, got
	}
}

// version returns what was read.
func (op *Op) version() Version {
	if !op.Present {
		return Version{}
	}
	return Version{op.Value, true}
}

// samePrefix reports whether the first n elements of a and b are the same. Lists
// that share their memory are not looked at.
func samePrefix(a, b []int, n int) bool {
	return n == 0 || &a[0] == &b[0] || slices.Equal(a[:n], b[:n])
}
