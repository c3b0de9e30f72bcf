// Backup saves a map while others write, and loads it again: what is saved is one moment, and
// what is damaged is not loaded at all.
package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"maps"

	"github.com/mvccmap/mvccmap/mvcc"
)

// save writes the map to w, as the number of its keys and as many pairs. Len and All are of
// the same snapshot, so they agree. Nobody waits for it, however slow w is.
func save[K comparable, V any](w io.Writer, m *mvcc.Map[K, V]) error {
	return m.View(func(s mvcc.Snapshot[K, V]) error {
		enc := gob.NewEncoder(w)
		if err := enc.Encode(s.Len()); err != nil {
			return err
		}
		for key, value := range s.All() {
			if err := enc.Encode(&key); err != nil {
				return err
			}
			if err := enc.Encode(&value); err != nil {
				return err
			}
		}
		return nil
	})
}

// load replaces what is in the map by what save has written to r. It reads all of it first:
// the transaction may run several times, and r can be read only once. If that fails nothing is
// written, and otherwise everybody sees all of the old pairs or all of the new ones.
func load[K comparable, V any](ctx context.Context, r io.Reader, m *mvcc.Map[K, V]) error {
	dec := gob.NewDecoder(r)
	n := 0
	if err := dec.Decode(&n); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	pairs := map[K]V{}
	for i := range n {
		var key K
		var value V
		if err := dec.Decode(&key); err != nil {
			return fmt.Errorf("backup: key %d of %d: %w", i+1, n, err)
		}
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("backup: value %d of %d: %w", i+1, n, err)
		}
		pairs[key] = value
	}
	return m.Update(ctx, nil, func(tx mvcc.Tx[K, V]) error {
		for key := range tx.Keys() {
			tx.Delete(key) // those of pairs are set again below
		}
		tx.SetAll(maps.All(pairs))
		return nil
	})
}

func main() {
	ctx := context.Background()
	m := mvcc.New[string, []int](nil)
	defer m.Close()
	m.Store("primes", []int{2, 3, 5})
	m.Store("squares", []int{1, 4, 9})

	var file bytes.Buffer
	if err := save(&file, m); err != nil {
		fmt.Println(err)
	}
	m.Delete("primes")
	m.Store("rubbish", []int{0})

	damaged := file.Bytes()[:file.Len()-3]
	fmt.Println(load(ctx, bytes.NewReader(damaged), m))
	fmt.Println(maps.Collect(m.All()))

	fmt.Println(load(ctx, &file, m))
	fmt.Println(maps.Collect(m.All()))
}
