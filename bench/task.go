package bench

import "fmt"

// A task is what one goroutine does over and over, with the record it keeps for
// verification. Tasks are made before the goroutines start and hold everything
// they need: do allocates nothing but byte slices to put, unless it fails.
type task interface {
	// do performs one operation. Errors are violations, ErrStopped,
	// ErrGaveUp, or failures of the engine.
	do() error
}

// violation is what a check found wrong; the [Trial] makes a [*Violation] of it.
type violation struct {
	key    string
	detail string
}

func (v *violation) Error() string {
	if v.key == "" {
		return v.detail
	}
	return fmt.Sprintf("key %q: %s", v.key, v.detail)
}

func wrong(key, format string, args ...any) error {
	return &violation{key: key, detail: fmt.Sprintf(format, args...)}
}

// wrongValue is the violation that err, or a flaw of the value itself, makes.
func wrongValue[K comparable, V any](key K, values *values[V], v V, ok bool, err error) error {
	if ok {
		if flaw := values.flaw(v); flaw != "" {
			return &violation{key: keyName(key), detail: flaw}
		}
	}
	return &violation{key: keyName(key), detail: err.Error()}
}

// getPutTask gets or puts one key.
type getPutTask[K comparable, V any] struct {
	session SessionOf[K, V]
	keys    []K
	values  values[V]
	seen    *observer
	reads   uint64 // an operation reads if its random 32 bits are below
	coin    stream // decides between get and put
	pick    stream // picks the key if there is a distribution
	dist    *zipf  // nil: round robin
	next    int    // the next key in the round
	label   labeller
}

func (t *getPutTask[K, V]) do() error {
	var k int
	if t.dist != nil {
		k = t.dist.draw(&t.pick)
	} else {
		k = t.next
		if t.next++; t.next == len(t.keys) {
			t.next = 0
		}
	}
	if t.coin.next()>>32 < t.reads {
		t.label.gets()
		v, ok, err := t.session.Get(t.keys[k])
		if err != nil {
			return err
		}
		if err := t.seen.got(k, t.values.stamp(v), ok); err != nil {
			return wrongValue(t.keys[k], &t.values, v, ok, err)
		}
		return nil
	}
	s := t.seen.draw(k)
	var v V
	t.values.set(&v, s)
	t.label.puts()
	if err := t.session.Put(t.keys[k], v); err != nil {
		return err
	}
	t.seen.put(k, s)
	return nil
}

func (t *getPutTask[K, V]) observed() *observer { return t.seen }
func (t *getPutTask[K, V]) labels() *labeller   { return &t.label }

// observing is a task that keeps an observer.
type observing interface{ observed() *observer }

// own is a goroutine's record of a key that nobody else writes.
type own struct {
	index  int
	writer int
	seq    uint64
	last   stamp // the last committed
}

// next returns the stamp to write next. One that was not committed is not used
// again.
func (o *own) next() stamp {
	o.seq++
	return makeStamp(o.writer, o.index, o.seq)
}

// check checks what the key was found to hold.
func (o *own) check(key string, v stamp, ok bool) error {
	if !ok {
		return wrong(key, "is absent")
	}
	if v != o.last {
		return wrong(key, "holds %s, but its only writer last wrote %s", describe(v), describe(o.last))
	}
	return nil
}

func (o *own) record() *own { return o }

// owning is a task with a key of its own.
type owning interface{ record() *own }

// disjointTask puts to the goroutine's own key.
type disjointTask[K comparable, V any] struct {
	own
	session SessionOf[K, V]
	key     K
	values  values[V]
	gaps    stream
	left    int // puts until the key is read back
}

// readBackEvery is the number of puts, on average, for each time that the own key
// is read back. It costs less than half a percent of the time, and it finds an
// engine that now and then loses a write.
const readBackEvery = 256

func (t *disjointTask[K, V]) do() error {
	s := t.next()
	var v V
	t.values.set(&v, s)
	if err := t.session.Put(t.key, v); err != nil {
		return err
	}
	t.last = s
	if t.left--; t.left < 0 {
		t.left = t.gaps.below(2*readBackEvery - 1)
		return t.readBack()
	}
	return nil
}

func (t *disjointTask[K, V]) readBack() error {
	v, ok, err := t.session.Get(t.key)
	if err != nil {
		return err
	}
	if s := t.values.stamp(v); !ok || s != t.last {
		return wrongValue(t.key, &t.values, v, ok, t.check("", s, ok))
	}
	return nil
}

// transferTask moves amounts between accounts.
type transferTask[K comparable] struct {
	transfer TransfererOf[K]
	keys     []K
	pick     stream
	amount   stream
	moved    []uint64 // by account: what the committed transfers add to it, modulo 2^64
}

// openingBalance is what each account holds at first. Balances may go below
// zero: every operation writes, whatever the balance.
const openingBalance = 1_000

func (t *transferTask[K]) do() error {
	from := t.pick.below(len(t.keys))
	to := t.pick.below(len(t.keys) - 1)
	if to >= from {
		to++
	}
	amount := uint64(1 + t.amount.below(100))
	if err := t.transfer.Transfer(t.keys[from], t.keys[to], amount); err != nil {
		return err
	}
	t.moved[from] -= amount
	t.moved[to] += amount
	return nil
}

// addTo adds what the task has added to each key.
func (t *transferTask[K]) addTo(sums []uint64) {
	for k, amount := range t.moved {
		sums[k] += amount
	}
}

// adding is a task that knows what it has added to each key.
type adding interface{ addTo(sums []uint64) }

// counterTask increments counters.
type counterTask[K comparable] struct {
	add     IncrementerOf[K]
	keys    []K
	next    int
	last    []uint64 // by key: the last sum that this goroutine was given
	counted []uint64 // by key: its committed increments
}

func (t *counterTask[K]) do() error {
	k := t.next
	if t.next++; t.next == len(t.keys) {
		t.next = 0
	}
	sum, err := t.add.Add(t.keys[k], 1)
	if err != nil {
		return err
	}
	if sum <= t.last[k] {
		return givenAgain(t.keys[k], sum, t.last[k])
	}
	t.last[k] = sum
	t.counted[k]++
	return nil
}

func givenAgain[K comparable](key K, sum, last uint64) error {
	return wrong(keyName(key), "an increment gave %d to a goroutine that had been given %d", sum, last)
}

func (t *counterTask[K]) addTo(sums []uint64) {
	for k, n := range t.counted {
		sums[k] += n
	}
}

// crowdTask is one of very many, and small: it increments one counter.
type crowdTask[K comparable] struct {
	add     IncrementerOf[K]
	key     K
	index   int
	last    uint64 // the last sum that this goroutine was given
	counted uint64 // its committed increments
}

func (t *crowdTask[K]) do() error {
	sum, err := t.add.Add(t.key, 1)
	if err != nil {
		return err
	}
	if sum <= t.last {
		return givenAgain(t.key, sum, t.last)
	}
	t.last = sum
	t.counted++
	return nil
}

func (t *crowdTask[K]) addTo(sums []uint64) { sums[t.index] += t.counted }

// beginTask begins and ends empty transactions.
type beginTask struct {
	begin Beginner
}

func (t *beginTask) do() error { return t.begin.Begin() }
