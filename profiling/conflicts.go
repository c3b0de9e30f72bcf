package profiling

import (
	"net/http"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/losses"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// conflicts shows which transactions lose attempts, and has them counted.
func (s *Service) conflicts(w http.ResponseWriter, r *http.Request) error {
	losses.Look()
	rows, since := losses.Report(s.cfg.ShowKeys)
	if asJSON, err := web.AsksJSON(r.URL.Query()); err != nil {
		return err
	} else if asJSON {
		return web.JSON(w, rows)
	}
	frame := s.frame("Conflicts", "conflicts", "../")
	return web.Page(w, http.StatusOK, "conflicts.html", frame, web.Data{
		"Rows": rows, "Since": since.Format(time.TimeOnly), "Reach": losses.Reach.Minutes(),
		"ShowKeys": s.cfg.ShowKeys,
	})
}

// conflictsView shows the time thrown away on a page of pprof.
func (s *Service) conflictsView(w http.ResponseWriter, r *http.Request) error {
	rows, _ := losses.Report(false)
	if len(rows) == 0 {
		return web.NotFound("no lost attempts are counted")
	}
	page := pprofui.Page{
		Frame: s.frame("Lost attempts", "conflicts", ""),
		About: "the attempts that transactions have lost to conflicts, and the time that these took",
		Links: []pprofui.Link{{Ref: "./", Text: "conflicts"}}, Difference: true,
	}
	return pprofui.Show(w, r, r.PathValue("view"), page, func() (p, base *profile.Profile, err error) {
		made := contention.NewProfile(time.Now(), 0)
		for _, row := range rows {
			made.Add(contention.Kind(row.Who), row.Calls, int64(row.Lost), row.Took)
		}
		return made.Profile, nil, nil
	})
}
