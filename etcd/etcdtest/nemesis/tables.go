package nemesis

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

const prefix = "nemesis/"

// lists is how many are in use at a time.
const lists = 5

// The tables that clients use.
type tables struct {
	lists    *etcd.Table[int, []int] // transactions append to them, for the history
	stamps   *etcd.Table[int, int]
	bookings bookings
	leases   leases
}

// A replica is the database of a process, with its tables.
type replica struct {
	*etcd.DB
	tables
}

// open opens a replica that retains the states of some time, within a minute.
func open(ctx context.Context, endpoints []string, retain time.Duration) (*replica, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := etcd.NewSchema(&mvcc.Options{Retain: retain})
	r := &replica{tables: tables{
		lists:  etcd.NewOrderedTable[int, []int](s, "lists", nil),
		stamps: etcd.NewTable[int, int](s, "stamps", nil),
		leases: newLeases(s),
	}}
	var err error
	if r.bookings, err = newBookings(s); err != nil {
		return nil, err
	}
	r.DB, err = etcd.Open(ctx, etcd.Config{Prefix: prefix, Schema: s, RequestTimeout: 2 * time.Second,
		ResolveTimeout: 4 * time.Second, Heartbeat: time.Second, Lease: time.Second,
		Now: func() time.Time { return time.Unix(0, now()) }, Logger: slog.New(slog.DiscardHandler),
		Client: clientv3.Config{Endpoints: endpoints, DialKeepAliveTime: 2 * time.Second,
			DialKeepAliveTimeout: 2 * time.Second}})
	return r, err
}

// check returns the first violation in the records that a view sees.
func (r *replica) check(s mvcc.DBSnapshot) error {
	if err := cmp.Or(r.bookings.check(s), r.leases.check(s)); err != nil {
		return fmt.Errorf("at revision %d %w", s.Epoch(), err)
	}
	return nil
}

// hash tells states of all tables apart.
func (r *replica) hash(s mvcc.DBSnapshot) (sum string, err error) {
	h := sha256.New()
	err = errors.Join(add(h, r.lists.At(s)), add(h, r.stamps.At(s)),
		add(h, r.bookings.At(s)), add(h, r.leases.At(s)), add(h, r.leases.made.At(s)), add(h, r.leases.gone.At(s)))
	return hex.EncodeToString(h.Sum(nil)), err
}

func add[K comparable, V any](h interface{ Write([]byte) (int, error) }, s mvcc.Snapshot[K, V]) error {
	all := map[string]V{}
	for k, v := range s.All() {
		all[fmt.Sprint(k)] = v
	}
	return json.NewEncoder(h).Encode(all) // in the order of the keys
}
