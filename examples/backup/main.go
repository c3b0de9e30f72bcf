// Backup saves a database while others write, and loads it again: what is saved is one moment,
// and what is damaged is not loaded at all.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "backup")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	full, since := filepath.Join(dir, "numbers"), filepath.Join(dir, "numbers.1")

	db := mvcc.NewDB(nil)
	defer db.Close()
	numbers := mvcc.NewTable[string, []int](db, "numbers", nil)
	numbers.Store("primes", []int{2, 3, 5})
	numbers.Store("squares", []int{1, 4, 9})

	// All of it, and later what has changed. The snapshot stays open until the next one is saved.
	s := db.Snapshot()
	first, err := db.SaveFile(ctx, full, codec.Gob, &mvcc.SaveOptions{Of: s})
	if err != nil {
		log.Fatal(err)
	}
	numbers.Store("cubes", []int{1, 8, 27})
	numbers.Delete("squares")
	second, err := db.SaveFile(ctx, since, codec.Gob, &mvcc.SaveOptions{Since: s})
	if err != nil {
		log.Fatal(err)
	}
	s.Close()
	fmt.Println("saved", first.Records, "records, then", second.Records, "changes")

	// Somewhere else. A table has to be there, by its name and types; it may have anything in it.
	other := mvcc.NewDB(nil)
	defer other.Close()
	loaded := mvcc.NewTable[string, []int](other, "numbers", nil)
	loaded.Store("rubbish", []int{0})
	changes, err := os.Open(since)
	if err != nil {
		log.Fatal(err)
	}
	defer changes.Close()
	then := &mvcc.LoadOptions{}
	then.Then = append(then.Then, changes)
	if _, err := other.LoadFile(ctx, full, codec.Gob, then); err != nil {
		log.Fatal(err)
	}
	fmt.Println(maps.Collect(loaded.All()))

	// A file that is damaged.
	if err := os.Truncate(full, first.Bytes-3); err != nil {
		log.Fatal(err)
	}
	_, err = other.LoadFile(ctx, full, codec.Gob, nil)
	fmt.Println(err)
	fmt.Println(maps.Collect(loaded.All()))
}
