package durable_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// What was committed in one life is there in the next one. Sync waits until it is on disk.
func ExampleOpen() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	for range 3 {
		db := mvcc.NewDB(nil)
		visits := mvcc.NewTable[string, int](db, "visits", nil)
		j, err := durable.Open(context.Background(), db, dir, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		visits.Merge("/", func(old int, _ bool) int { return old + 1 })
		n, _ := visits.Load("/")
		fmt.Println(n, j.Sync(context.Background()))
		_ = j.Close()
		db.Close()
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}
