// Config has settings that belong together, and goroutines that act on a change. A Map has no
// watches: here the transaction that changes something wakes the watchers, once it has
// committed, and each reads a snapshot. It never sees one new setting with another old one. A
// watcher that is slow misses states in between, and never the last one.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	Tx       = mvcc.Tx[string, string]
	Snapshot = mvcc.Snapshot[string, string]
)

type config struct {
	settings *mvcc.Map[string, string]

	mu   sync.Mutex
	next chan struct{} // closed at the next change
}

func newConfig() *config {
	return &config{settings: mvcc.New[string, string](nil), next: make(chan struct{})}
}

// update changes settings in a transaction, and wakes the watchers if it commits.
func (c *config) update(ctx context.Context, fn func(tx Tx) error) error {
	return c.settings.Update(ctx, nil, func(tx Tx) error {
		tx.OnCommit(func(uint64) { // not before: they would see the old settings
			c.mu.Lock()
			defer c.mu.Unlock()
			close(c.next)
			c.next = make(chan struct{})
		})
		return fn(tx)
	})
}

func (c *config) changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// watch calls fn with a snapshot at once, and after changes, until ctx ends.
//
// A program that need not know at once can poll instead: it notes the Epoch of the snapshot
// that it has acted on, and looks now and then whether the Epoch of the map is another one.
func (c *config) watch(ctx context.Context, fn func(s Snapshot)) {
	for {
		changed := c.changed() // before the snapshot: what comes after it is not missed
		_ = c.settings.View(func(s Snapshot) error { fn(s); return nil })
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func main() {
	ctx := context.Background()
	c := newConfig()
	defer c.settings.Close()
	c.settings.Store("host", "a.example")
	c.settings.Store("cert of", "a.example")

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			c.watch(ctx, func(s Snapshot) {
				host, _ := s.Get("host")
				if cert, _ := s.Get("cert of"); host != cert {
					fmt.Println("the certificate of", cert, "on", host)
				}
				if host == "z.example" {
					cancel()
				}
			})
		})
	}
	for letter := 'b'; letter <= 'z'; letter++ {
		host := string(letter) + ".example"
		if err := c.update(ctx, func(tx Tx) error {
			tx.Set("host", host)
			tx.Set("cert of", host)
			return nil
		}); err != nil {
			fmt.Println(err)
		}
	}
	wg.Wait()
	fmt.Println("all have the newest settings")
}
