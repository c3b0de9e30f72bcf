package bench

import "fmt"

// getPutWorkloads get or put one key.
func getPutWorkloads() []Workload {
	const verified = " Verified: no key goes back in time, comes back to a value that was replaced, " +
		"or shows what nobody wrote to it; each holds somebody's last write at the end."
	const byZipf = "Keys by a Zipf distribution, exact for any theta"
	var list []Workload
	add := func(name string, keys, readPct int, theta float64, doc string) {
		p := Params{Keys: keys, ReadPct: readPct, Theta: theta, ValueSize: words}
		w := Workload{Name: name, Doc: doc + verified, Params: p, minKeys: 1, maxKeys: manyKeys}
		list = append(list, w)
	}
	hot := func(name string, readPct int) {
		add(name, 4, readPct, Unset, fmt.Sprintf("Hot keys, round robin from a random start: "+
			"%d %% get, %d %% put, chosen at random and independently of the key.", readPct, 100-readPct))
	}
	skewed := func(name string, readPct int, theta float64, what string) {
		add(name, 1_000, readPct, theta, fmt.Sprintf("%s: %d %% get, %d %% put, "+
			"chosen independently of the key.", what, readPct, 100-readPct))
	}
	hot("read-heavy", 90)
	hot("balanced", 50)
	hot("write-heavy", 10)
	skewed("zipf-read", 90, 0.9, byZipf)
	skewed("zipf-write", 10, 0.9, byZipf)
	skewed("mixed", 67, 0, "Two reads to a write, keys at random")
	return list
}

// observed is what the jobs have in common in which every goroutine writes every key.
type observed[V any] struct {
	rig  *rigOf[V]
	dist *zipf // by which keys are drawn; nil: round robin
	all  []*observer
}

func newObserved[V any](r *rigOf[V]) observed[V] {
	o := observed[V]{rig: r}
	if theta := r.config.Workload.Params.Theta; theta != Unset {
		o.dist = newZipf(len(r.list), theta)
	}
	return o
}

func (o *observed[V]) first(k int) stamp { return loaded(k) }

// observer returns what goroutine i keeps of the keys.
func (o *observed[V]) observer(i int) *observer {
	seen := newObserver(i+1, o.rig.config.Threads, len(o.rig.list))
	o.all = append(o.all, seen)
	return seen
}

// reads returns how many of 2^32 operations read.
func (o *observed[V]) reads() uint64 {
	return uint64(max(o.rig.config.Workload.Params.ReadPct, 0)) * (1 << 32) / 100
}

func (o *observed[V]) verify() error {
	if err := checkSeen(o.all); err != nil {
		return &violation{detail: err.Error()}
	}
	return o.rig.each(func(k int, v stamp, ok bool) error {
		if err := checkFinal(o.all, k, v, ok); err != nil {
			return &violation{key: o.rig.name(k), detail: err.Error()}
		}
		return nil
	})
}

type getPutJob[V any] struct{ observed[V] }

func (j *getPutJob[V]) task(i int, s Session[V]) task {
	start := j.rig.streamFor(i, forStart)
	return &getPutTask[V]{
		session: s,
		keys:    j.rig.list,
		values:  newValues[V](j.rig.Trial, i),
		seen:    j.observer(i),
		reads:   j.reads(),
		coin:    j.rig.streamFor(i, forCoin),
		pick:    j.rig.streamFor(i, forPick),
		dist:    j.dist,
		next:    start.below(len(j.rig.list)),
		label:   labeller{on: &j.rig.labelling},
	}
}

// getPutTask gets or puts one key.
type getPutTask[V any] struct {
	session Session[V]
	keys    []string
	values  values[V]
	seen    *observer
	reads   uint64 // an operation reads if its random 32 bits are below
	coin    stream // decides between get and put
	pick    stream // picks the key if there is a distribution
	dist    *zipf  // nil: round robin
	next    int    // the next key in the round
	label   labeller
}

func (t *getPutTask[V]) do() error {
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

func (t *getPutTask[V]) labels() *labeller { return &t.label }
