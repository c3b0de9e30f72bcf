package profiling

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A database is one of Config.Data, as the page shows it.
type database struct {
	Name  string
	Epoch uint64
	seam.Description
}

// data shows the tables of the databases, and who uses them.
func (s *Service) data(w http.ResponseWriter, _ *http.Request) error {
	var list []database
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Data)) {
		db := s.cfg.Data[name]
		d := door.Of(db).Describe() // before the epoch, so that nothing is ahead of it
		list = append(list, database{name, db.Epoch(), d})
	}
	return web.Page(w, http.StatusOK, "data.html", s.frame("Data", "data", "../"), web.Data{
		"Databases": list,
	})
}

// Behind returns how many epochs have passed since the given one.
func (d database) Behind(epoch uint64) uint64 { return max(d.Epoch, epoch) - epoch }

// Deleted is how many keys are deleted and may still be seen by somebody.
func (d database) Deleted(t seam.TableInfo) int { return max(t.Entries-t.Keys, 0) }

// Cardinality is how many index keys there are, and entries for a record, in words.
func (d database) Cardinality(t seam.TableInfo, ix seam.IndexInfo) string {
	const counted = 10_000 // and no further
	if t.Keys == 0 || ix.Keys < 0 {
		return ""
	}
	most := ""
	if !ix.Unique && ix.Keys == counted {
		most = " or more"
	}
	return fmt.Sprintf("%d%s index keys, %.3g entries a record", ix.Keys, most,
		float64(ix.Entries)/float64(t.Keys))
}
