// Aliasing shows what "values are stored, not copied" means for values with a slice, a map or a
// pointer inside: they are shared with everything that reads them, including snapshots of the
// past. So a value is copied before it is changed.
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Aliases make the types of a map short, and name them in one place.
type (
	Map = mvcc.Map[string, doc]
	Tx  = mvcc.Tx[string, doc]
)

type doc struct {
	title string // of what a value holds directly every reader has a copy
	tags  []string
	attrs map[string]string
}

// clone copies all that may be changed.
func (d doc) clone() doc {
	d.tags = slices.Clone(d.tags)
	d.attrs = maps.Clone(d.attrs)
	return d
}

// edit changes a copy of the document, and stores it in the place of the old one.
func edit(ctx context.Context, m *Map, key string, change func(d *doc)) error {
	return m.Update(ctx, nil, func(tx Tx) error {
		d, ok := tx.Get(key)
		if !ok {
			return fmt.Errorf("no document %q", key)
		}
		d = d.clone()
		change(&d)
		tx.Set(key, d)
		return nil
	})
}

func main() {
	ctx := context.Background()
	m := mvcc.New[string, doc](nil)
	defer m.Close()
	fresh := doc{"Notes", []string{"draft"}, map[string]string{"by": "alice"}}

	// Wrong: the slice and the map are those that everybody has. The snapshot changes, a
	// transaction that is rolled back does not take it back, and the race detector complains.
	m.Store("wrong", fresh.clone())
	s := m.Snapshot()
	d, _ := m.Load("wrong")
	d.title = "Plans" // harmless: d is a copy
	d.tags[0] = "final"
	d.attrs["by"] = "bob"
	m.Store("wrong", d)
	fmt.Println(s.Get("wrong"))
	s.Close()

	// Right.
	m.Store("right", fresh.clone())
	s = m.Snapshot()
	defer s.Close()
	err := edit(ctx, m, "right", func(d *doc) {
		d.title = "Plans"
		d.tags[0] = "final"
		d.attrs["by"] = "bob"
	})
	fmt.Println(s.Get("right"))
	fmt.Println(m.Load("right"))
	fmt.Println(err)

	// An append is a change as well, if there is room behind the slice: two that append to
	// the same one write to the same place. One that is clipped is copied by append.
	d, _ = m.Load("right")
	d.tags = append(slices.Clip(d.tags), "signed")
	m.Store("right", d)
	fmt.Println(d.tags)
}
