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
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/etcd/etcdtest"
	"github.com/mvccmap/mvccmap/mvcc"
)

const (
	prefix = "nemesis/"
	user   = "nemesis" // of the keys with the prefix
)

// An access says how a replica is opened.
type access struct {
	Endpoints []string
	Prefix    string
	Program   int // its version, see forms
	Rolling   bool
	Secrets   string // a folder with a certificate and the password, if not ""
}

// passwordFile is the file of a folder of secrets that has the password.
func passwordFile(secrets string) string { return filepath.Join(secrets, "password") }

// lists is how many are in use at a time.
const lists = 5

// The tables that clients use.
type tables struct {
	lists    *etcd.Table[int, []int] // transactions append to them, for the history
	stamps   *etcd.Table[int, int]
	bookings bookings
	leases   leases
	forms    forms
}

// A replica is the database of a process, with its tables.
type replica struct {
	*etcd.DB
	tables
}

// open opens a replica that retains the states of some time, within a minute.
func open(ctx context.Context, a access, retain time.Duration) (*replica, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := etcd.NewSchema(&mvcc.Options{Retain: retain})
	r := &replica{tables: tables{
		lists:  etcd.NewOrderedTable[int, []int](s, "lists", nil),
		stamps: etcd.NewTable[int, int](s, "stamps", nil),
		leases: newLeases(s),
		forms:  newForms(s, a.Program),
	}}
	var err error
	if r.bookings, err = newBookings(s); err != nil {
		return nil, err
	}
	cfg := etcd.Config{Prefix: a.Prefix, Schema: s, RequestTimeout: 2 * time.Second,
		ResolveTimeout: 4 * time.Second, Heartbeat: time.Second, Lease: time.Second,
		Version: a.Program, Versions: []int{0, 1, 2}, Rolling: a.Rolling,
		Now: func() time.Time { return time.Unix(0, now()) }, Logger: slog.New(slog.DiscardHandler),
		Client: clientv3.Config{Endpoints: a.Endpoints, DialKeepAliveTime: 2 * time.Second,
			DialKeepAliveTimeout: 2 * time.Second}}
	if a.Secrets != "" {
		cfg.Client.TLS, cfg.Client.Username = etcdtest.ClientTLS(a.Secrets), user
		cfg.Password = func(context.Context) (string, error) {
			b, err := os.ReadFile(passwordFile(a.Secrets))
			return string(b), err
		}
	}
	r.DB, err = etcd.Open(ctx, cfg)
	return r, err
}

// check returns the first violation in the records that a view sees.
func (r *replica) check(s mvcc.DBSnapshot) error {
	if err := cmp.Or(r.bookings.check(s), r.leases.check(s), r.forms.check(s)); err != nil {
		return fmt.Errorf("at revision %d %w", s.Epoch(), err)
	}
	return nil
}

// hash tells states of all tables apart, but for forms, of which programs do not have the same.
func (r *replica) hash(s mvcc.DBSnapshot) (sum string, err error) {
	h := sha256.New()
	err = errors.Join(add(h, r.lists.At(s)), add(h, r.stamps.At(s)), add(h, r.forms.counts.At(s)),
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
