// Bulkload reads a long file into a map, in batches: each is a transaction, and all or nothing.
// How far the import has come is written with it. So an import that was interrupted goes on
// where it stopped, and loads no row twice.
package main

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

const (
	batch    = 100
	progress = "" // the key of the number of rows that were loaded; no row has it
)

// load loads the lines that have not been loaded before.
func load(ctx context.Context, m *mvcc.Map[string, int], lines iter.Seq[string]) error {
	done, _ := m.Load(progress)
	n, rows := 0, make(map[string]int, batch)
	// Rows are read and checked before the transaction, not in it: that may run several
	// times, and the file can be read only once. It only writes, so it never conflicts.
	flush := func() error {
		err := m.Update(ctx, nil, func(tx mvcc.Tx[string, int]) error {
			for name, value := range rows {
				tx.Set(name, value)
			}
			tx.Set(progress, n)
			return nil
		})
		clear(rows)
		return err
	}
	for line := range lines {
		if n++; n <= done {
			continue
		}
		name, text, _ := strings.Cut(strings.TrimSpace(line), ",")
		value, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err) // the batches before stay
		}
		if rows[name] = value; len(rows) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func main() {
	ctx := context.Background()
	var file strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&file, "sensor %d,%d\n", i, i*i)
	}
	good := file.String()
	bad := strings.Replace(good, "sensor 750,", "sensor 750,x", 1)

	m := mvcc.New[string, int](&mvcc.Options{Capacity: 1001})
	defer m.Close()
	fmt.Println(load(ctx, m, strings.Lines(bad)))
	fmt.Println(m.Load(progress))
	fmt.Println(load(ctx, m, strings.Lines(good))) // the file has been mended
	fmt.Println(m.Load(progress))
	fmt.Println(m.Load("sensor 999"))
}
