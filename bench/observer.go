package bench

import "fmt"

// An observer is the knowledge of one goroutine of records that carry stamps: enough to
// tell a value that must not turn up from one that may. It rests on two facts: no value
// is written twice, and a writer's sequence numbers grow.
type observer struct {
	writer int // 1 + the goroutine's number; 0 for the first values
	seq    uint64

	// last is, by key, the value last read or written here.
	last []stamp

	// highest is, by key and writer, the highest sequence number seen under that key. Its length is
	// writers times keys, for each goroutine; if that is too much, highest is nil, and only last is
	// checked.
	highest []uint64
	writers int

	// latest is, by writer, the highest sequence number seen at all.
	latest []uint64
}

// maxHighest bounds the entries of observer.highest over all goroutines: 128 MB.
const maxHighest = 1 << 24

func newObserver(writer, threads, keys int) *observer {
	o := &observer{
		writer:  writer,
		writers: threads + 1,
		last:    numbers(keys),
		latest:  numbers(threads + 1),
	}
	if uint64(threads)*uint64(o.writers)*uint64(keys) <= maxHighest {
		o.highest = numbers(o.writers * keys)
	}
	for k := range keys {
		o.see(k, loaded(k))
	}
	return o
}

// see records v as the current value of key k.
func (o *observer) see(k int, v stamp) {
	o.last[k] = v
	w, s := stampWriter(v), stampSeq(v)
	if o.highest != nil {
		o.highest[k*o.writers+w] = s
	}
	o.latest[w] = max(o.latest[w], s)
}

// draw returns the value to write to key k next.
func (o *observer) draw(k int) stamp {
	o.seq++
	return makeStamp(o.writer, k, o.seq)
}

// put records that v, drawn for key k, has been committed.
func (o *observer) put(k int, v stamp) { o.see(k, v) }

// got checks the value that a read of key k returned, and records it.
func (o *observer) got(k int, v stamp) error {
	if v == o.last[k] {
		return nil
	}
	if err := o.check(k, v); err != nil {
		return err
	}
	o.see(k, v)
	return nil
}

// check reports whether v may be the value of key k now.
func (o *observer) check(k int, v stamp) error {
	w := stampWriter(v)
	switch {
	case v == o.last[k]:
		return nil
	case w >= o.writers || v == 0:
		return fmt.Errorf("holds %#x, which nobody wrote", v)
	case !keyMatches(v, k):
		return fmt.Errorf("holds %s, which was written to another key", describe(v))
	case w == 0:
		return fmt.Errorf("holds its first value again, after %s", describe(o.last[k]))
	case w == o.writer:
		return fmt.Errorf("shows goroutine %d its own %s again, or too early, after %s", o.writer-1,
			describe(v), describe(o.last[k]))
	case o.highest != nil && stampSeq(v) <= o.highest[k*o.writers+w]:
		return fmt.Errorf("shows goroutine %d %s, which it has seen replaced; the last it knew was %s",
			o.writer-1, describe(v), describe(o.last[k]))
	case o.highest == nil && w == stampWriter(o.last[k]) && stampSeq(v) < stampSeq(o.last[k]):
		return fmt.Errorf("shows goroutine %d %s after %s", o.writer-1, describe(v), describe(o.last[k]))
	}
	return nil
}

// describe says in words which writer wrote v.
func describe(v stamp) string {
	if w := stampWriter(v); w > 0 {
		return fmt.Sprintf("write %d of goroutine %d", stampSeq(v), w-1)
	}
	return "the first value"
}

// checkFinal checks, when the goroutines have ended, that v may be the final value of key k: that
// no goroutine, the writer of v included, has seen v replaced. Then v is the last write of its
// writer to the key, or the first value if nothing was written to the key: each writer has seen its
// write replace the value before.
func checkFinal(all []*observer, k int, v stamp) error {
	w := stampWriter(v)
	switch {
	case w > len(all) || v == 0:
		return fmt.Errorf("holds %#x at the end, which nobody wrote", v)
	case w == 0 && v != loaded(k):
		return fmt.Errorf("holds %#x at the end, which nobody wrote", v)
	}
	for _, o := range all {
		if err := o.check(k, v); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	return nil
}

// checkSeen checks, when the goroutines have ended, that no goroutine has read a value that its
// writer had not drawn.
func checkSeen(all []*observer) error {
	for _, o := range all {
		for w, s := range o.latest {
			if w > 0 && s > all[w-1].seq {
				return fmt.Errorf("goroutine %d read write %d of goroutine %d, which made only %d", o.writer-1,
					s, w-1, all[w-1].seq)
			}
		}
	}
	return nil
}
