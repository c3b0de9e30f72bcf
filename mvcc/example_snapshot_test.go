package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

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

// Which values were written when, and by whom? A value that names its writer tells the rest.
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
