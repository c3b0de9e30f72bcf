package durable_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// numbers returns a database with a table of some numbers.
func numbers(all ...int) (*mvcc.DB, *mvcc.Map[int, string]) {
	db := mvcc.NewDB(nil)
	table := mvcc.NewTable[int, string](db, "numbers", nil)
	for _, n := range all {
		table.Store(n, fmt.Sprintf("%b", n))
	}
	return db, table
}

// A backup with durable.JSON is lines of JSON: a program that knows nothing of this library reads the
// records of a table, which come after the line with its name. With jq it is
//
//	jq -nc 'foreach inputs as $x (""; $x.table // .;
//	  if . == "numbers" and ($x | has("k")) then $x else empty end)' backup
func ExampleSave_lines() {
	db, _ := numbers(5)
	defer db.Close()
	mvcc.NewTable[string, bool](db, "flags", nil).Store("dark", true)
	var file bytes.Buffer
	_, _ = durable.Save(context.Background(), db, &file, durable.JSON, nil)

	table := ""
	for lines := bufio.NewScanner(&file); lines.Scan(); {
		var line struct {
			Table string // begins a table
			K     *int   // of a record
			V     string
		}
		_ = json.Unmarshal(lines.Bytes(), &line)
		if line.Table != "" {
			table = line.Table
		}
		if table == "numbers" && line.K != nil {
			fmt.Println(*line.K, line.V, lines.Text())
		}
	}
	// Output:
	// 5 101 {"k":5,"v":"101"}
}

func ExampleSaveFile() {
	db, table := numbers(1, 2, 3)
	defer db.Close()
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "numbers.backup")

	_, err := durable.SaveFile(context.Background(), db, path, durable.Gob, nil)
	fmt.Println(err)
	table.Clear()
	_, err = durable.LoadFile(context.Background(), db, path, durable.Gob, nil)
	fmt.Println(table.Len(), err)
	// Output:
	// <nil>
	// 3 <nil>
}

// A backup of the changes since the last one, and how both are loaded.
func ExampleSaveOptions() {
	ctx := context.Background()
	db, table := numbers(1, 2, 3)
	defer db.Close()
	var full, changes bytes.Buffer
	s := db.Snapshot()
	_, _ = durable.Save(ctx, db, &full, durable.Gob, &durable.SaveOptions{Of: s})
	table.Delete(2)
	saved, _ := durable.Save(ctx, db, &changes, durable.Gob, &durable.SaveOptions{Since: s})
	s.Close()
	fmt.Println(saved.Records)

	other, loaded := numbers()
	defer other.Close()
	opts := &durable.LoadOptions{}
	opts.Then = append(opts.Then, &changes)
	_, err := durable.Load(ctx, other, &full, durable.Gob, opts)
	fmt.Println(loaded.Len(), err)
	// Output:
	// 1
	// 2 <nil>
}
