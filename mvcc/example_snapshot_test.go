package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A View reads several keys as of one moment. It never conflicts, and holds nobody up.
func ExampleMap_View() {
	prices := mvcc.New[string, int](nil)
	defer prices.Close()
	prices.Store("tea", 3)
	prices.Store("cup", 5)

	err := prices.View(func(s mvcc.Snapshot[string, int]) error {
		tea, _ := s.Get("tea")
		prices.Store("cup", 6) // too late for this view
		cup, _ := s.Get("cup")
		fmt.Println(tea + cup)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 8
	// <nil>
}

func ExampleViewValue() {
	prices := mvcc.New[string, int](nil)
	defer prices.Close()
	prices.Store("tea", 3)
	prices.Store("cup", 5)

	sum, err := mvcc.ViewValue(prices, func(s mvcc.Snapshot[string, int]) (int, error) {
		sum := 0
		for _, price := range s.All() {
			sum += price
		}
		return sum, nil
	})
	fmt.Println(sum, err)
	// Output: 8 <nil>
}

// A Snapshot may be open for long, and used by several goroutines at once: all of them read
// one moment.
func ExampleMap_Snapshot() {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	for i := range 100 {
		m.Store(i, 1)
	}

	s := m.Snapshot()
	defer s.Close()
	m.Clear()
	var sums [4]int
	var wg sync.WaitGroup
	for part := range sums {
		wg.Go(func() {
			for i := part; i < 100; i += len(sums) {
				n, _ := s.Get(i)
				sums[part] += n
			}
		})
	}
	wg.Wait()
	fmt.Println(sums, m.Len())
	// Output: [25 25 25 25] 0
}

// With Options.Retain the map can be read as it was at the end of any transaction of that
// time.
func ExampleMap_SnapshotAt() {
	m := mvcc.New[string, string](&mvcc.Options{Retain: time.Hour})
	defer m.Close()

	var published uint64
	err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, string]) error {
		tx.Set("title", "first edition")
		tx.OnCommit(func(epoch uint64) { published = epoch })
		return nil
	})
	m.Store("title", "second edition")

	s, errAt := m.SnapshotAt(published)
	if err := errors.Join(err, errAt); err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println(s.Get("title"))

	_, err = m.SnapshotAt(m.Epoch() + 1)
	fmt.Println(errors.Is(err, mvcc.ErrEpochGone)) // not yet to be had
	// Output:
	// first edition true
	// true
}

// Since when has the price been what it is?
func ExampleRevision() {
	m := mvcc.New[string, int](&mvcc.Options{Retain: time.Hour})
	defer m.Close()
	m.Store("price", 3)
	m.Store("price", 4)
	newest := mvcc.History(m, "price")[0]
	fmt.Println(newest.Value, "since epoch", newest.Epoch, time.Since(newest.Time) < time.Minute)
	// Output: 4 since epoch 3 true
}

// What was written when, and by whom? A value that names its writer tells the rest.
func ExampleHistory() {
	m := mvcc.New[string, string](&mvcc.Options{Retain: time.Hour})
	defer m.Close()
	m.Store("title", "draft")
	m.Store("title", "first edition")
	m.Delete("title")
	m.Store("title", "second edition")

	for _, r := range mvcc.History(m, "title") {
		if r.Deleted {
			fmt.Println(r.Epoch, "deleted", time.Since(r.Time) < time.Minute)
		} else {
			fmt.Println(r.Epoch, r.Value)
		}
	}
	// Output:
	// 5 second edition
	// 4 deleted true
	// 3 first edition
	// 2 draft
}

// Helpers take a Snapshot by value, and read several things that agree with each other.
func ExampleSnapshot() {
	type Snapshot = mvcc.Snapshot[string, string]
	countries := func(s Snapshot) []string {
		return slices.Compact(slices.Sorted(s.Values()))
	}

	m := cities()
	defer m.Close()
	_ = m.View(func(s Snapshot) error {
		fmt.Println(s.Len(), countries(s))
		return nil
	})
	// Output: 3 [Norway Peru]
}

func ExampleSnapshot_Get() {
	m := cities()
	defer m.Close()

	s := m.Snapshot()
	defer s.Close()
	m.Delete("Oslo")
	fmt.Println(s.Get("Oslo"))
	// Output: Norway true
}

func ExampleSnapshot_Has() {
	m := cities()
	defer m.Close()

	s := m.Snapshot()
	defer s.Close()
	m.Store("Quito", "Ecuador")
	fmt.Println(s.Has("Oslo"), s.Has("Quito"))
	// Output: true false
}

// A loop may take its time and stop early. It may go through the snapshot again, and will
// meet the same.
func ExampleSnapshot_All() {
	m := cities()
	defer m.Close()

	s := m.Snapshot()
	defer s.Close()
	for city, country := range s.All() {
		if country == "Peru" {
			fmt.Println(city)
			break
		}
	}
	// Output: Lima
}

func ExampleSnapshot_Keys() {
	m := cities()
	defer m.Close()

	s := m.Snapshot()
	defer s.Close()
	for city := range s.Keys() {
		m.Delete(city) // of the map; the loop goes on
	}
	fmt.Println(slices.Sorted(s.Keys()), m.Len())
	// Output: [Bergen Lima Oslo] 0
}

func ExampleSnapshot_Values() {
	m := cities()
	defer m.Close()

	s := m.Snapshot()
	defer s.Close()
	fmt.Println(slices.Sorted(s.Values()))
	// Output: [Norway Norway Peru]
}

// Len of a snapshot is exact, and counts: it takes as long as a loop over all keys.
func ExampleSnapshot_Len() {
	m := cities()
	defer m.Close()

	s := m.Snapshot()
	defer s.Close()
	m.Store("Quito", "Ecuador")
	fmt.Println(s.Len(), m.Len())
	// Output: 3 4
}

// The same epoch means the same contents: a client that has them already need not get them
// again.
func ExampleSnapshot_Epoch() {
	m := cities()
	defer m.Close()

	first, second := m.Snapshot(), m.Snapshot()
	defer first.Close()
	defer second.Close()
	fmt.Println(first.Epoch() == second.Epoch())
	// Output: true
}

func ExampleSnapshot_Close() {
	m := cities()
	defer m.Close()

	s := m.Snapshot()
	defer s.Close() // does nothing any more
	fmt.Println(s.Len())
	s.Close() // as soon as it is not needed: it keeps old versions in memory
	// Output: 3
}

// A snapshot that is too old panics at a read. Try makes that an error.
func ExampleSnapshot_Try() {
	ctx := context.Background()
	m := mvcc.New[string, int](&mvcc.Options{MaxTxAge: time.Nanosecond, ManualReclaim: true})
	m.Store("n", 1)

	s := m.Snapshot()
	defer s.Close()
	for m.Stats().Evicted == 0 { // a map with goroutines of its own does this itself
		if err := m.Reclaim(ctx); err != nil {
			panic(err)
		}
	}
	err := s.Try(func() error {
		n, _ := s.Get("n")
		fmt.Println(n) // never comes to this
		return nil
	})
	fmt.Println(errors.Is(err, mvcc.ErrTxTooOld))
	// Output: true
}
