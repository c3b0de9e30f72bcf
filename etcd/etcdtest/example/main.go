// Example starts three etcd members on this machine, and three replicas of a bank, which transfer
// money between the same accounts. Each second it prints what they do. Kill a member, and see the
// others go on:
//
//	go run -C etcd/etcdtest ./example
//	kill -9 PID            # in another terminal, with a PID that it has printed
//
// It ends with Ctrl-C, and leaves nothing behind. With --http 127.0.0.1:6060 it shows what the replicas
// do in the browser.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/etcd/etcdtest"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

func main() {
	etcdtest.Main() // does not return in a member
	var o options
	flag.DurationVar(&o.duration, "duration", 0, "how long to run, once all have begun; 0 means until Ctrl-C")
	flag.DurationVar(&o.kill, "kill", 0, "after how long to kill the leader; 0 means never")
	flag.StringVar(&o.http, "http", "", "where to show charts of the replicas, such as 127.0.0.1:6060")
	flag.Parse()
	if flag.NArg() > 0 || o.duration < 0 || o.kill < 0 {
		fmt.Fprintln(os.Stderr, "example: want no arguments, and --duration and --kill of 0 or more")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

type options struct {
	duration, kill time.Duration
	http           string
}

const (
	accounts = 100
	balance  = 1000
)

// A bank is a replica. In a program there would be one in each process.
type bank struct {
	*etcd.DB
	accounts            *etcd.Table[int, int]
	transfers, failures atomic.Int64
}

func openBank(ctx context.Context, endpoints []string) (*bank, error) {
	s := etcd.NewSchema(nil)
	b := &bank{accounts: etcd.NewTable[int, int](s, "accounts", nil)}
	var err error
	b.DB, err = etcd.Open(ctx, etcd.Config{Prefix: "bank/", Schema: s,
		Client: clientv3.Config{Endpoints: endpoints}})
	return b, err
}

// transfer moves money from one account to another one.
func (b *bank) transfer(ctx context.Context, from, to, amount int) error {
	return b.Update(ctx, func(tx mvcc.DBTx) error {
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

// total is what is in all accounts, as of one revision.
func (b *bank) total() (sum int, revision uint64) {
	_ = b.View(func(s mvcc.DBSnapshot) error {
		for _, n := range b.accounts.At(s).All() {
			sum += n
		}
		revision = s.Epoch()
		return nil
	})
	return sum, revision
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
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
	for i, endpoint := range cluster.Endpoints() {
		fmt.Fprintf(out, "member %d: PID %d at %s\n", i, cluster.Pid(i), endpoint)
	}
	var banks []*bank
	for range 3 {
		b, err := openBank(ctx, cluster.Endpoints())
		if err != nil {
			return err
		}
		defer b.Close()
		banks = append(banks, b)
	}
	if err := banks[0].Update(ctx, func(tx mvcc.DBTx) error {
		for i := range accounts {
			banks[0].accounts.In(tx).Set(i, balance)
		}
		return nil
	}); err != nil {
		return err
	}
	if o.http != "" {
		cfg := profiling.Config{Addr: o.http, Title: "Bank", Values: map[string]func() []prom.Value{}}
		for i, b := range banks {
			cfg.Values[fmt.Sprint("replica ", i)] = b.Values
		}
		server, err := profiling.Start(cfg)
		if err != nil {
			return err
		}
		defer server.Close()
		fmt.Fprintln(out, "charts:", server.URL())
	}
	began := time.Now()
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	var work sync.WaitGroup
	defer work.Wait()
	for _, b := range banks {
		for range 4 {
			work.Go(func() {
				for ctx.Err() == nil {
					err := b.transfer(ctx, rand.IntN(accounts), rand.IntN(accounts), rand.IntN(50))
					if err == nil {
						b.transfers.Add(1)
					} else if ctx.Err() == nil {
						b.failures.Add(1)
					}
				}
			})
		}
	}
	fmt.Fprint(out, "each second, of each replica:\n     ")
	for range banks {
		fmt.Fprint(out, "  |revision transfers failed   total")
	}
	fmt.Fprintln(out)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		fmt.Fprintf(out, "%4.0fs", time.Since(began).Seconds())
		for i, b := range banks {
			sum, revision := b.total()
			fmt.Fprintf(out, "  |%8d%10d%7d%8d", revision, b.transfers.Swap(0), b.failures.Swap(0), sum)
			if sum != 0 && sum != accounts*balance {
				return fmt.Errorf("replica %d has %d in all accounts, want %d", i, sum, accounts*balance)
			}
		}
		fmt.Fprintln(out)
		if o.kill > 0 && time.Since(began) >= o.kill {
			o.kill = 0
			leader, err := cluster.Leader(ctx)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "the leader, member %d, is killed\n", leader)
			if err := cluster.Kill(leader); err != nil {
				return err
			}
		}
	}
}
