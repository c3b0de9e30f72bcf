package history

import "slices"

// This file collects the reads and writes of a transaction, key by key, and checks that the
// transaction does not contradict itself.

// An access is the use that one transaction makes of one key.
type access struct {
	key    int32
	read   bool // from others, before its own writes
	update bool // one of these reads was for an update
	list   []int
	own    []int // the values that it appended
	other  bool  // not only by merges
}

// digest notes the reads of transaction i from others and its writes.
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
		if op.Kind == OpRead {
			a.update = a.update || op.Update && a.own == nil
			c.readList(i, a, op.List)
			continue
		}
		a.other = a.other || op.Kind != OpMerge
		a.own = append(a.own, op.Value)
	}
	for _, a := range accesses {
		ks := c.keys[a.key]
		wrote := a.own != nil && c.committed(i)
		if a.read {
			ks.readers = append(ks.readers, reader{
				tx: i, writes: wrote && a.other, update: a.update, list: a.list,
			})
		}
		if wrote {
			ks.writers = append(ks.writers, writer{tx: i, own: a.own})
			for _, value := range a.own {
				c.writeOf(a.key, value).merge = !a.other
			}
		}
	}
}

// readList takes a read of a list, which must end with the transaction's own appends,
// and begin with its earlier read.
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

// samePrefix reports whether the first n elements of a and b are the same. Lists
// that share their memory are not looked at.
func samePrefix(a, b []int, n int) bool {
	return n == 0 || &a[0] == &b[0] || slices.Equal(a[:n], b[:n])
}
