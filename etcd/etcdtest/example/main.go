// Example is a bank of several processes, over three etcd members on this machine. Each is started by
// a command of its own, in a terminal of its own:
//
//	go run -C etcd/etcdtest ./example             # the members; it prints the command of a bank
//	go run -C etcd/etcdtest ./example ENDPOINT... # a bank; and again for the second and third one
//
// The banks transfer money between the same accounts. Each second they print the number of their
// transfers, and the total of all accounts as of one revision. Kill a bank or a member, by a PID
// that was printed, and see the others go on:
//
//	kill -9 PID
//
// Ctrl-C ends a command, and the members leave nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/etcd/etcdtest"
	"github.com/mvccmap/mvccmap/mvcc"
)

func main() {
	etcdtest.Main() // does not return in a member
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := runMembers
	if flag.NArg() > 0 {
		run = func(ctx context.Context) error { return runBank(ctx, flag.Args()) }
	}
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// runMembers runs three members until ctx ends.
func runMembers(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "etcd-example")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cluster, err := etcdtest.Start(ctx, 3, dir, etcdtest.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	for i := range cluster.Endpoints() {
		fmt.Printf("member %d: PID %d\n", i, cluster.Pid(i))
	}
	fmt.Println("go run -C etcd/etcdtest ./example", strings.Join(cluster.Endpoints(), " "))
	<-ctx.Done()
	return nil
}

const (
	accounts = 100
	balance  = 1000
)

// A bank is the replica of a process.
type bank struct {
	*etcd.DB
	accounts            *etcd.Table[int, int]
	transfers, failures atomic.Int64
}

// runBank transfers money until ctx ends.
func runBank(ctx context.Context, endpoints []string) error {
	s := etcd.NewSchema(nil)
	b := &bank{accounts: etcd.NewTable[int, int](s, "accounts", nil)}
	var err error
	if b.DB, err = etcd.Open(ctx, etcd.Config{Prefix: "bank/", Schema: s,
		Client: clientv3.Config{Endpoints: endpoints}}); err != nil {
		return err
	}
	defer b.Close()
	if err := b.Update(ctx, nil, func(tx mvcc.DBTx) error { // once, whichever bank comes first
		for i := 0; i < accounts && !b.accounts.In(tx).Has(i); i++ {
			b.accounts.In(tx).Set(i, balance)
		}
		return nil
	}); err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	for range 4 {
		work.Go(func() {
			for ctx.Err() == nil {
				if b.transfer(ctx, rand.IntN(accounts), rand.IntN(accounts), rand.IntN(50)) == nil {
					b.transfers.Add(1)
				} else if ctx.Err() == nil {
					b.failures.Add(1)
				}
			}
		})
	}
	return b.print(ctx)
}

// transfer moves money from one account to another one.
func (b *bank) transfer(ctx context.Context, from, to, amount int) error {
	return b.Update(ctx, nil, func(tx mvcc.DBTx) error {
		in := b.accounts.In(tx)
		has, _ := in.Get(from)
		if has < amount || from == to {
			return nil
		}
		other, _ := in.Get(to)
		in.Set(from, has-amount)
		in.Set(to, other+amount)
		return nil
	})
}

// print prints, each second, the work of the bank, and the total as of one revision.
func (b *bank) print(ctx context.Context) error {
	for tick := time.Tick(time.Second); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-b.Failed():
			return b.Err()
		case <-tick:
		}
		sum := 0
		_ = b.View(func(s mvcc.DBSnapshot) error {
			for _, n := range b.accounts.At(s).All() {
				sum += n
			}
			fmt.Printf("PID %d, revision %d: %d transfers, %d failed, total %d\n", os.Getpid(), s.Epoch(),
				b.transfers.Swap(0), b.failures.Swap(0), sum)
			return nil
		})
	}
}
