package durable_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The commits of one life are there in the next one. Sync waits until they are on disk.
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

// The contents of a journal can be seen without the types, also while a program writes it.
func ExampleInspect() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db := mvcc.NewDB(nil)
	defer db.Close()
	orders := mvcc.NewTable[int, string](db, "orders", nil)
	j, _ := durable.Open(ctx, db, dir, &durable.Options{Codec: durable.JSON})
	defer j.Close()
	orders.Store(1, "tea")
	_ = j.Sync(ctx)

	info, err := durable.Inspect(dir)
	fmt.Println(info.Codec, info.Epoch == db.Epoch(), info.Err, err)
	for _, table := range info.Tables {
		fmt.Println(table.Name, table.ValueShape, table.Changes)
	}
	for _, file := range info.Files {
		fmt.Println(file.Name, len(file.Groups))
	}
	// Output:
	// json true <nil> <nil>
	// orders string 1
	// backup-00000001 0
	// journal-00000001 2
}
