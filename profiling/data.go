package profiling

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A database is one of Config.Data, as the page and its JSON have it.
type database struct {
	Name    string       `json:"name"`
	Epoch   uint64       `json:"epoch"`
	Tables  []dataTable  `json:"tables"`
	Watches []dataWatch  `json:"watches"`
	Readers []dataReader `json:"readers"`
}

type dataTable struct {
	Name    string      `json:"name"`
	Key     string      `json:"key"`
	Value   string      `json:"value"`
	Order   string      `json:"order,omitempty"`
	Expires bool        `json:"expires,omitempty"`
	Keys    int         `json:"keys"`
	Entries int         `json:"entries"`
	Bytes   uint64      `json:"bytes"`
	Lost    uint64      `json:"conflicts"`
	Indexes []dataIndex `json:"indexes,omitempty"`
}

type dataIndex struct {
	Name    string `json:"name"`
	Key     string `json:"key"`
	Unique  bool   `json:"unique,omitempty"`
	Ordered bool   `json:"ordered,omitempty"`
	Entries int    `json:"entries"`
	Keys    int    `json:"keys"` // see mvcc.IndexInfo
}

type dataWatch struct {
	Table   string `json:"table,omitempty"`
	Behind  uint64 `json:"behind_epochs"`
	Waiting int    `json:"waiting"`
	Buffer  int    `json:"buffer"`
}

type dataReader struct {
	Epoch  uint64        `json:"epoch"`
	Behind uint64        `json:"behind_epochs"`
	Age    time.Duration `json:"age_ns"`
	Began  []dataFrame   `json:"began,omitempty"`
}

type dataFrame struct {
	Function string `json:"function"`
	Place    string `json:"place"`
}

// Deleted is how many keys are deleted and may still be seen by somebody.
func (t dataTable) Deleted() int { return max(t.Entries-t.Keys, 0) }

// Memory is Bytes in words.
func (t dataTable) Memory() string { return brief.Bytes(int64(t.Bytes)) }

// Cardinality is how many index keys there are, and entries for a record, in words.
func (ix dataIndex) Cardinality(of dataTable) string {
	const counted = 10_000 // and no further
	if of.Keys == 0 || ix.Keys < 0 {
		return ""
	}
	most := ""
	if !ix.Unique && ix.Keys == counted {
		most = " or more"
	}
	return fmt.Sprintf("%d%s index keys, %.3g entries a record", ix.Keys, most,
		float64(ix.Entries)/float64(of.Keys))
}

// data shows what there is in the databases, and who uses them.
func (s *Service) data(w http.ResponseWriter, r *http.Request) error {
	list := []database{}
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Data)) {
		list = append(list, describe(name, s.cfg.Data[name]))
	}
	if asJSON, err := web.AsksJSON(r.URL.Query()); err != nil {
		return err
	} else if asJSON {
		return web.JSON(w, list)
	}
	return web.Page(w, http.StatusOK, "data.html", s.frame("Data", "data", "../"), web.Data{
		"Databases": list,
	})
}

func describe(name string, db *mvcc.DB) database {
	d := db.Describe()
	now := db.Epoch()
	behind := func(epoch uint64) uint64 { return max(now, epoch) - epoch }
	one := database{Name: name, Epoch: now,
		Tables: []dataTable{}, Watches: []dataWatch{}, Readers: []dataReader{}}
	for _, t := range d.Tables {
		table := dataTable{Name: t.Name, Key: t.Key.String(), Value: t.Value.String(),
			Expires: t.Expires, Keys: t.Stats.Keys, Entries: t.Stats.Entries, Bytes: t.Stats.Bytes,
			Lost: t.Stats.Conflicts}
		switch {
		case t.Natural:
			table.Order = "natural"
		case t.Ordered:
			table.Order = "by a function"
		}
		for _, ix := range t.Indexes {
			table.Indexes = append(table.Indexes,
				dataIndex{ix.Name, ix.Key.String(), ix.Unique, ix.Ordered, ix.Entries, ix.Keys})
		}
		one.Tables = append(one.Tables, table)
	}
	for _, w := range d.Watches {
		one.Watches = append(one.Watches, dataWatch{w.Table, behind(w.Epoch), w.Waiting, w.Buffer})
	}
	for _, r := range d.Readers {
		one.Readers = append(one.Readers,
			dataReader{r.Epoch, behind(r.Epoch), r.Age, framesOf(r.Began)})
	}
	return one
}

func framesOf(began []runtime.Frame) (list []dataFrame) {
	for _, f := range began {
		at := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		list = append(list, dataFrame{cmp.Or(brief.Func(f.Function), "unknown code"), at})
	}
	return list
}
