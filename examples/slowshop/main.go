// Slowshop takes orders in several goroutines, and is slower than it should be:
// something to find the reasons of. docs/profiling.md shows how, step by step.
//
//	go run ./examples/slowshop -http 127.0.0.1:6060            takes orders until Ctrl-C
//	go run ./examples/slowshop -http 127.0.0.1:6060 -fix lock  without one mistake
//	go run ./examples/slowshop -http 127.0.0.1:6060 -fix both  without either
//	go run ./examples/slowshop -http 127.0.0.1:6060 -faults    a service with a fault in each route
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

const (
	clerks = 32
	basket = 16 // items of an order
	items  = 10_000
	plenty = 1_000_000 // of each item
)

// A shop has items in stock and a journal of its sales.
type shop struct {
	stock   *mvcc.Map[int, int] // by item; countKey has the number of orders
	journal journal
	orders  atomic.Uint64
	entries atomic.Pointer[entry] // see routes

	fixLock, fixCount bool // do without the mistakes
}

// countKey is no item.
const countKey = -1

func openShop() *shop {
	s := &shop{stock: mvcc.New[int, int](&mvcc.Options{Capacity: items + 1})}
	for item := range items {
		s.stock.Store(item, plenty)
	}
	return s
}

// order takes one each of some items from the stock.
func (s *shop) order(ctx context.Context, wanted []int) error {
	err := s.stock.Update(ctx, nil, func(tx mvcc.Tx[int, int]) error {
		if !s.fixCount { // the second mistake: one key that every order writes
			n, _ := tx.Get(countKey)
			tx.Set(countKey, n+1)
		}
		for _, item := range wanted {
			left, _ := tx.Get(item)
			tx.Set(item, left-1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.orders.Add(1)
	if s.fixLock {
		s.journal.addShortly(wanted)
	} else {
		s.journal.add(wanted)
	}
	return nil
}

// A journal has a line for each order.
type journal struct {
	mu    sync.Mutex
	lines int
}

// add adds a line, and makes the first mistake: it waits for the disk while it
// holds the lock that every order needs.
func (j *journal) add(line []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	write(line)
	j.lines++
}

// addShortly is add without the mistake.
func (j *journal) addShortly(line []int) {
	write(line)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines++
}

// write takes as long as a disk does until it says that it has a line.
func write([]int) { time.Sleep(time.Millisecond) }

// work takes orders, n of them or, if that is 0, until ctx ends: no order fails before.
func (s *shop) work(ctx context.Context, n int, took *profiling.Op) {
	var wg sync.WaitGroup
	for clerk := range clerks {
		random := rand.New(rand.NewPCG(1, uint64(clerk)))
		wg.Go(func() {
			wanted := make([]int, basket)
			for i := clerk; ctx.Err() == nil && (n == 0 || i < n); i += clerks {
				for i := range wanted { // no item twice
					wanted[i] = i*(items/basket) + random.IntN(items/basket)
				}
				start := time.Now()
				if s.order(ctx, wanted) != nil {
					return
				}
				took.Done(time.Since(start))
			}
		})
	}
	wg.Wait()
}

func run() error {
	addr := flag.String("http", "", "take orders until Ctrl-C, and serve profiles on `address`")
	fix := flag.String("fix", "none", "do without the `mistake` lock, or both")
	faults := flag.Bool("faults", false, "with -http, serve routes with a fault each instead")
	flag.Parse()
	s := openShop()
	defer s.stock.Close()
	switch *fix {
	case "none":
	case "lock":
		s.fixLock = true
	case "both":
		s.fixLock, s.fixCount = true, true
	default:
		return fmt.Errorf("-fix: expected none, lock or both, not %q", *fix)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()

	n := 400
	var took *profiling.Op // does nothing yet
	if *addr != "" {
		cfg := profiling.Config{Addr: *addr, Title: "slowshop",
			Maps: map[string]func() mvcc.Stats{"stock": s.stock.Stats}}
		if *faults {
			cfg.Slow = &profiling.SlowConfig{Above: 2 * time.Millisecond}
		}
		srv, err := profiling.Start(cfg)
		if err != nil {
			return err
		}
		defer srv.Close()
		if *faults {
			return s.serve(ctx, srv)
		}
		fmt.Fprintln(os.Stderr, "profiles:", srv.URL())
		srv.SetPhase("taking orders")
		took, n = srv.Op("order"), 0
	}
	s.work(ctx, n, took)

	sold, now := 0, s.stock.Snapshot()
	defer now.Close()
	for item, left := range now.All() {
		if item != countKey {
			sold += plenty - left
		}
	}
	fmt.Printf("%d orders, %d items sold, %d lines in the journal\n", s.orders.Load(),
		sold, s.journal.lines)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "slowshop:", err)
		os.Exit(1)
	}
}
