// Snapshots keeps one snapshot open while the map is overwritten, reads it from
// several goroutines, and shows that both views are right and that the old
// versions in between are not kept.
package main

import (
	"fmt"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

func main() {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	for k := range 100 {
		m.Store(k, 1)
	}

	s := m.Snapshot() // a small value; any goroutine may use it
	defer s.Close()
	for round := range 1000 {
		for k := range 100 {
			m.Store(k, round)
		}
	}

	sums := make([]int, 4)
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() {
			for _, v := range s.All() {
				sums[i] += v
			}
		})
	}
	wg.Wait()
	now := 0
	m.Range(func(_, v int) bool { now += v; return true })
	fmt.Println("as of the snapshot:", sums)
	fmt.Println("now:", now)

	st := m.Stats()
	kept := st.Commits - st.Pruned
	fmt.Println("fewer than 40 versions of a key kept, of 1001:", kept < 40*100)
}
