package mvcc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/seam"
)

// maxReaders bounds [seam.Description].Readers, and maxDistinct the search for IndexInfo.Keys.
const (
	maxReaders  = 32
	maxDistinct = 10_000
)

func (db door) Describe() seam.Description {
	d := seam.Description{Tables: dbAt(db.DB).describeTables()}
	s := dbAt(db.DB).shared
	d.Watches = s.hub.describe()
	for _, r := range s.gc.Readers(maxReaders) {
		d.Readers = append(d.Readers,
			seam.ReaderInfo{Epoch: uint64(r.Epoch), Age: r.Age, Began: r.Began})
	}
	return d
}

func (db *database) describeTables() (list []seam.TableInfo) {
	for _, c := range db.list.Load().tables {
		is := c.stats()
		t := seam.TableInfo{Name: c.counters.name, Key: c.types.key, Value: c.types.value,
			Ordered: c.order != nil, Natural: c.order != nil && c.order.natural,
			Expires: c.expiryAt.Load() != nil,
			Keys:    is.Keys, Entries: is.Entries, Bytes: is.Bytes, Conflicts: is.Conflicts}
		if s := c.schema.Load(); s != nil {
			for _, ix := range s.indexes {
				key, table, unique, ordered := ix.describe()
				one := seam.IndexInfo{Name: ix.named(), Key: key, Unique: unique, Ordered: ordered,
					Entries: table.len(), Keys: table.len()}
				if !unique {
					one.Keys = ix.distinct(maxDistinct)
				}
				t.Indexes = append(t.Indexes, one)
			}
		}
		slices.SortFunc(t.Indexes, func(a, b seam.IndexInfo) int {
			return strings.Compare(a.Name, b.Name)
		})
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b seam.TableInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// describe returns the watches.
func (h *hub) describe() (list []seam.WatchInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.listeners {
		s, ok := w.(*subscription)
		if !ok {
			continue
		}
		s.mu.Lock()
		info := seam.WatchInfo{Epoch: uint64(h.at), Waiting: s.changes, Buffer: s.limit}
		s.mu.Unlock()
		if s.of != nil {
			info.Table = s.of.counters.name
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b seam.WatchInfo) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), cmp.Compare(b.Waiting, a.Waiting))
	})
	return list
}
