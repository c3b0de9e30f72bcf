package etcd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Seats of a train are sold by several processes, and none of them twice.
func Example() {
	schema := etcd.NewSchema(nil)
	seats := etcd.NewOrderedTable[int, string](schema, "seats", nil) // who has which one

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	db, err := etcd.Open(ctx, etcd.Config{
		Client: clientv3.Config{Endpoints: []string{"http://127.0.0.1:2379"}},
		Prefix: "train/",
		Schema: schema,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	full := errors.New("the train is full")
	err = db.Update(ctx, nil, func(tx mvcc.DBTx) error {
		in := seats.In(tx)
		for seat := 1; seat <= 100; seat++ {
			if !in.Has(seat) {
				in.Set(seat, "ann")
				return nil
			}
		}
		return full
	})
	switch {
	case errors.Is(err, etcd.ErrOutcomeUnknown):
		fmt.Println("look whether ann has a seat, before you try again")
	case err != nil:
		fmt.Println("nothing was sold:", err)
	}

	// A view never waits for the network. It sees one revision.
	_ = db.View(func(s mvcc.DBSnapshot) error {
		for seat, who := range seats.At(s).Ascend(mvcc.From(1)) {
			fmt.Println(seat, who)
		}
		return nil
	})
}

// A cluster that asks for TLS and a user. The password is read again whenever etcd asks for it, so it
// can be changed while the program runs.
func ExampleConfig() {
	authority, err := os.ReadFile("/etc/shop/ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	_ = etcd.Config{
		Client: clientv3.Config{
			Endpoints: []string{"https://10.0.0.1:2379"},
			Username:  "shop",
			TLS:       &tls.Config{RootCAs: roots},
		},
		Password: func(context.Context) (string, error) {
			password, err := os.ReadFile("/etc/shop/password")
			return strings.TrimSpace(string(password)), err
		},
		Prefix: "shop/",
		Schema: etcd.NewSchema(nil),
	}
}

// A database is an [mvcc.DB], for one process, or an [etcd.DB], for several. A program declares the
// methods that it calls.
type database interface {
	Update(ctx context.Context, opts *mvcc.TxOptions, fn func(tx mvcc.DBTx) error) error
	View(fn func(s mvcc.DBSnapshot) error) error
	Snapshot() mvcc.DBSnapshot
	SnapshotAt(epoch uint64) (mvcc.DBSnapshot, error)
	Watch(ctx context.Context, opts *mvcc.DBWatchOptions) iter.Seq2[mvcc.DBCommit, error]
	Follow(ctx context.Context, opts *mvcc.FollowOptions, begin func(s mvcc.DBSnapshot) error,
		apply func(c mvcc.DBCommit) error) error
	Position(epoch uint64) mvcc.Position
	Diff(newer, older mvcc.DBSnapshot) mvcc.DBCommit
	Epoch() uint64
}

// A table is an [mvcc.Map] or an [etcd.Table].
type table interface {
	In(tx mvcc.DBTx) mvcc.Tx[string, int]
}

var _, _ = database((*etcd.DB)(nil)), table((*etcd.Table[string, int])(nil))

func transfer(ctx context.Context, db database, accounts table, n int) error {
	return db.Update(ctx, &mvcc.TxOptions{Name: "transfer"}, func(tx mvcc.DBTx) error {
		in := accounts.In(tx)
		has, _ := in.Get("ann")
		in.Set("ann", has-n)
		in.Merge("bob", func(old int, _ bool) int { return old + n })
		return nil
	})
}

// The same program runs in one process, as here, or with a database and a table of package etcd.
func ExampleDB_Update() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	accounts := mvcc.NewTable[string, int](db, "accounts", nil)
	accounts.Set("ann", 50)
	if err := transfer(context.Background(), db, accounts, 20); err != nil {
		log.Fatal(err)
	}
	has, _ := accounts.Get("bob")
	fmt.Println(has)
	// Output: 20
}

// A job that a worker does not finish in time goes back to the queue, whichever process it was, and
// whichever deletes its lease: in one transaction.
func ExampleTable_OnExpire() {
	type lease struct {
		Worker string
		Until  time.Time
	}
	schema := etcd.NewSchema(nil)
	leases := etcd.NewTable[int, lease](schema, "leases", nil)
	queue := etcd.NewOrderedTable[int, string](schema, "queue", nil)
	leases.Expire(func(_ int, l lease) time.Time { return l.Until })
	leases.OnExpire(func(tx mvcc.DBTx, job int, l lease) error {
		queue.In(tx).Set(job, "lost by "+l.Worker)
		return nil
	})
	// Here: etcd.Open. A worker that goes on writes a later time.
}
