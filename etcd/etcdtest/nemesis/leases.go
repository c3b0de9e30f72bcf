package nemesis

import (
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A lease expires at a time by now, or never, if that is 0. One worker makes and renews it.
type lease struct {
	Owner int
	Until int64
}

// leases are records that expire, and how many of each owner there have been: OnExpire counts those that
// have gone.
type leases struct {
	*etcd.Table[string, lease]
	made, gone *etcd.Table[int, int]
}

func newLeases(s *etcd.Schema) leases {
	l := leases{etcd.NewTable[string, lease](s, "leases", nil), etcd.NewTable[int, int](s, "made", nil),
		etcd.NewTable[int, int](s, "gone", nil)}
	l.Expire(func(_ string, v lease) time.Time {
		if v.Until == 0 {
			return time.Time{}
		}
		return time.Unix(0, v.Until)
	})
	l.OnExpire(func(tx mvcc.DBTx, _ string, v lease) error {
		l.gone.In(tx).Merge(v.Owner, increment)
		return nil
	})
	return l
}

func increment(n int, _ bool) int { return n + 1 }

// check returns the first violation in the leases that a view sees.
func (l *leases) check(s mvcc.DBSnapshot) error {
	there := map[int]int{}
	for _, v := range l.At(s).All() {
		there[v.Owner]++
	}
	for owner, made := range l.made.At(s).All() {
		gone, _ := l.gone.At(s).Get(owner)
		if there[owner] != made-gone {
			return fmt.Errorf("worker %d has made %d leases, %d are there and %d have expired", owner, made,
				there[owner], gone)
		}
		delete(there, owner)
	}
	for owner := range there {
		return fmt.Errorf("worker %d has leases, and has made none", owner)
	}
	return nil
}

// due returns how many leases there are that expire.
func (l *leases) due() (n int) {
	for _, v := range l.All() {
		if v.Until != 0 {
			n++
		}
	}
	return n
}

// kept is how many leases a worker has at a time.
const kept = 6

// A holding is a lease that its owner knows: nobody else changes it before its time.
type holding struct {
	key   string
	until int64
}

// lease makes a lease or renews one, often just when it is about to expire.
func (w *worker) lease() {
	r := w.replica()
	if w.fresh(r) {
		w.holdings = [kept]holding{}
	}
	h := &w.holdings[w.r.IntN(kept)]
	until := now() + w.r.Int64N(int64(50*time.Millisecond))
	switch w.r.IntN(8) {
	case 0:
		until = 0
	case 1, 2, 3:
		until += w.r.Int64N(int64(500 * time.Millisecond))
	}
	if h.key == "" {
		key := fmt.Sprint(w.process, "/", w.values.Add(1))
		if w.update(r, func(tx mvcc.DBTx) error {
			r.leases.In(tx).Set(key, lease{w.process, until})
			r.leases.made.In(tx).Merge(w.process, increment)
			return nil
		}) == committed {
			*h = holding{key, until}
		}
	} else {
		w.renew(r, h, until)
	}
	time.Sleep(time.Duration(w.r.IntN(5)) * time.Millisecond)
}

// renew gives a lease another time, if it has not gone.
func (w *worker) renew(r *replica, h *holding, until int64) {
	var seen lease
	var there bool
	end := w.update(r, func(tx mvcc.DBTx) error {
		in := r.leases.In(tx)
		if seen, there = in.Get(h.key); there {
			in.Set(h.key, lease{w.process, until})
		}
		return nil
	})
	switch {
	case end == unknown:
		*h = holding{} // it has either time
	case end == refused:
	case !there && (h.until == 0 || now() < h.until):
		w.tell(line{Wrong: fmt.Sprintf("lease %s has expired, at %d, before its time, which is %d", h.key, now(),
			h.until)})
		*h = holding{}
	case !there:
		*h = holding{}
	case seen.Until != h.until:
		w.tell(line{Wrong: fmt.Sprintf("lease %s was read until %d, and committed until %d", h.key, seen.Until,
			h.until)})
	default:
		h.until = until
	}
}

// stamp writes higher and higher numbers to a record of its own, without reading it: so a request that comes
// late is seen. Most go by themselves, and not together with others that would be in the way, as they read
// a record that is never there.
func (w *worker) stamp() {
	r := w.replica()
	if w.fresh(r) {
		w.last = 0
	}
	if w.last == 0 {
		w.stamps++ // to the one before something may come at any time
	}
	key, n := w.process+100_000*w.stamps, int(w.values.Add(1))
	if v, _ := r.stamps.Load(key); v != w.last {
		w.tell(line{Wrong: fmt.Sprintf("stamp %d is %d, and was committed as %d", key, v, w.last)})
	}
	switch w.update(r, func(tx mvcc.DBTx) error {
		if n%8 > 0 {
			r.stamps.In(tx).Get(0)
		}
		r.stamps.In(tx).Set(key, n)
		return nil
	}) {
	case committed:
		w.last = n
	case unknown:
		w.last = 0
	}
	time.Sleep(time.Duration(10+w.r.IntN(10)) * time.Millisecond) // views should see it
}
