// Config has settings that belong together, and goroutines that act on a change. Each reads a
// snapshot, so it never sees a new setting with an old one, and waits until something has changed
// since. A goroutine that is slow misses states in between, and never the last one.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	Settings = mvcc.Map[string, string]
	Snapshot = mvcc.Snapshot[string, string]
	Tx       = mvcc.Tx[string, string]
)

// follow calls fn with a snapshot at once, and after changes, until ctx ends. To get each change,
// with the old and the new values, use Watch.
func follow(ctx context.Context, settings *Settings, fn func(s Snapshot)) {
	for {
		s := settings.Snapshot()
		fn(s)
		changed := s.Changed(ctx, "host") // which changes with all that belongs to it
		s.Close()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func main() {
	ctx := context.Background()
	settings := mvcc.New[string, string](nil)
	defer settings.Close()
	settings.Store("host", "a.example")
	settings.Store("cert of", "a.example")

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			follow(ctx, settings, func(s Snapshot) {
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
		if err := settings.Update(ctx, nil, func(tx Tx) error {
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
