package nemesis

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

const prefix = "nemesis/"

// How much there is of what.
const (
	accounts = 8    // which have balance each at first, and all of it together for ever
	balance  = 1000 // of an account
	pairs    = 3    // of accounts that may not be overdrawn together
	groups   = 3    // which have from 1 to seats members
	seats    = 3
	lists    = 5 // in use at a time
)

// The tables that clients use.
type tables struct {
	lists    *etcd.Table[int, []int] // what transactions append to, for the history
	accounts *etcd.Table[int, int]
	pairs    *etcd.Table[int, int]      // two keys for each
	members  *etcd.Table[string, int64] // "group/member"
	counter  *etcd.Table[int, int]      // one key
	stamps   *etcd.Table[int, int]
	bookings bookings
	leases   leases
}

// A replica is what a process has.
type replica struct {
	*etcd.DB
	tables
}

// open opens a replica that retains the states of some time.
func open(ctx context.Context, endpoints []string, retain time.Duration) (*replica, error) {
	s := etcd.NewSchema(&mvcc.Options{Retain: retain})
	r := &replica{tables: tables{
		lists:    etcd.NewOrderedTable[int, []int](s, "lists", nil),
		accounts: etcd.NewTable[int, int](s, "accounts", nil),
		pairs:    etcd.NewOrderedTable[int, int](s, "pairs", nil),
		members:  etcd.NewOrderedTable[string, int64](s, "members", nil),
		counter:  etcd.NewTable[int, int](s, "counter", nil),
		stamps:   etcd.NewTable[int, int](s, "stamps", nil),
		leases:   newLeases(s),
	}}
	var err error
	if r.bookings, err = newBookings(s); err != nil {
		return nil, err
	}
	r.DB, err = etcd.Open(ctx, etcd.Config{Prefix: prefix, Schema: s, RequestTimeout: 2 * time.Second,
		ResolveTimeout: 4 * time.Second, Heartbeat: time.Second, Lease: time.Second,
		Now: func() time.Time { return time.Unix(0, now()) },
		Client: clientv3.Config{Endpoints: endpoints, DialKeepAliveTime: 2 * time.Second,
			DialKeepAliveTimeout: 2 * time.Second}})
	return r, err
}

// begin makes what there is at first.
func (r *replica) begin(ctx context.Context) error {
	return r.Update(ctx, func(tx mvcc.DBTx) error {
		for i := range accounts {
			r.accounts.In(tx).Set(i, balance)
		}
		for i := range 2 * pairs {
			r.pairs.In(tx).Set(i, 50)
		}
		for i := range groups {
			r.members.In(tx).Set(member(i, "first"), 0)
		}
		r.counter.In(tx).Set(0, 0)
		return nil
	})
}

func member(group int, who string) string { return fmt.Sprint(group, "/", who) }

// inGroup is the range of a group's members.
func inGroup(group int) mvcc.Range[string] {
	return mvcc.From(member(group, "")).Before(fmt.Sprint(group, "0"))
}

// check returns what is wrong with what a view sees.
func (r *replica) check(s mvcc.DBSnapshot) error {
	sum := 0
	for i := range accounts {
		v, _ := r.accounts.At(s).Get(i)
		sum += v
	}
	if sum != accounts*balance {
		return fmt.Errorf("at revision %d all accounts have %d, want %d", s.Epoch(), sum, accounts*balance)
	}
	for i := range pairs {
		x, _ := r.pairs.At(s).Get(2 * i)
		y, _ := r.pairs.At(s).Get(2*i + 1)
		if x+y < 0 {
			return fmt.Errorf("at revision %d pair %d is overdrawn: %d and %d", s.Epoch(), i, x, y)
		}
	}
	for i := range groups {
		n := 0
		for range r.members.At(s).Ascend(inGroup(i)) {
			n++
		}
		if n < 1 || n > seats {
			return fmt.Errorf("at revision %d group %d has %d members, want 1 to %d", s.Epoch(), i, n, seats)
		}
	}
	if err := cmp.Or(r.bookings.check(s), r.leases.check(s)); err != nil {
		return fmt.Errorf("at revision %d %w", s.Epoch(), err)
	}
	return nil
}

// hash tells states of all tables apart.
func (r *replica) hash(s mvcc.DBSnapshot) (sum string, err error) {
	h := sha256.New()
	err = errors.Join(add(h, r.lists.At(s)), add(h, r.accounts.At(s)), add(h, r.pairs.At(s)),
		add(h, r.members.At(s)), add(h, r.counter.At(s)), add(h, r.stamps.At(s)), add(h, r.bookings.At(s)),
		add(h, r.leases.At(s)), add(h, r.leases.made.At(s)), add(h, r.leases.gone.At(s)))
	return hex.EncodeToString(h.Sum(nil)), err
}

func add[K comparable, V any](h interface{ Write([]byte) (int, error) }, s mvcc.Snapshot[K, V]) error {
	all := map[string]V{}
	for k, v := range s.All() {
		all[fmt.Sprint(k)] = v
	}
	return json.NewEncoder(h).Encode(all) // in the order of the keys
}
