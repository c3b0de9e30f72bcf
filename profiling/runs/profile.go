package runs

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/profiling/internal/pprofui"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// A savedProfile is a profile of a run.
type savedProfile struct{ run, file string }

// data returns the bytes of a profile, whatever they are.
func (p *pages) data(r *http.Request, of savedProfile) (data []byte, err error) {
	err = p.ask(r, func() error {
		data, err = p.shelf.Profile(of.run, of.file)
		return err
	})
	return data, err
}

// read returns a profile, which this program need not have made.
func (p *pages) read(r *http.Request, of savedProfile) (*profile.Profile, error) {
	data, err := p.data(r, of)
	if err != nil {
		return nil, err
	}
	q, err := pprofui.Read(data)
	if err != nil {
		return nil, web.Refuse(http.StatusUnprocessableEntity,
			"profile %s of run %s cannot be read: %v", of.file, of.run, err)
	}
	return q, nil
}

// profile shows a page of a profile of a run, or of its difference from one of another run.
func (p *pages) profile(w http.ResponseWriter, r *http.Request) error {
	of := savedProfile{r.PathValue("run"), r.PathValue("file")}
	base := savedProfile{r.PathValue("base"), r.PathValue("basefile")}
	view := r.PathValue("view")
	compared := base.run != ""
	switch {
	case view == "download" && compared:
		return web.Refuse(http.StatusNotImplemented, "a difference is not stored: "+
			"download both profiles and run go tool pprof -diff_base")
	case of == base:
		return web.Bad("a profile does not differ from itself: choose two")
	case view == "download":
		data, err := p.data(r, of)
		if err != nil {
			return err
		}
		web.Attach(w, path.Base(of.run+"-"+of.file))
		w.Write(data)
		return nil
	}
	page := pprofui.Page{Frame: p.frame(of.file, ""), About: "of run " + of.run}
	page.Links = []pprofui.Link{{Ref: "./", Text: "the run"}}
	var more, less pprofui.Side
	if compared {
		var err error
		if more, less, err = p.sides(r, of, base); err != nil {
			return err
		}
		page.Difference, page.More, page.Less = true, more.Name, less.Name
		if of.file != base.file {
			page.Page += " minus " + base.file
		}
		page.About = "run " + of.run + " minus run " + base.run + ", " + pprofui.AboutScale(more, less)
		page.Links[0].Text = "the comparison"
	}
	return pprofui.Show(w, r, view, page, func() (x, y *profile.Profile, err error) {
		if x, err = p.read(r, of); err != nil {
			return nil, nil, err
		}
		if !compared {
			if pprofui.IsEmpty(x) {
				err = web.NotFound("nothing was sampled in profile %s of run %s", of.file, of.run)
			}
			return x, nil, err
		}
		if y, err = p.read(r, base); err != nil {
			return nil, nil, err
		}
		if err := comparable(x, y); err != nil {
			return nil, nil, err
		}
		pprofui.ScaleBase(y, more, less)
		x.Comments = append(x.Comments,
			fmt.Sprintf("Difference: run %s minus run %s", of.run, base.run))
		return x, y, nil
	})
}

// sides describes two profiles that are compared.
func (p *pages) sides(r *http.Request, of, base savedProfile) (more, less pprofui.Side, err error) {
	more, less = pprofui.Side{Name: of.run}, pprofui.Side{Name: base.run}
	if of.run == base.run {
		more.Name, less.Name = of.file, base.file
	}
	err = p.ask(r, func() error {
		for _, side := range []struct {
			savedProfile
			ops *uint64
		}{{of, &more.Ops}, {base, &less.Ops}} {
			run, err := p.shelf.Get(side.run)
			if err != nil {
				return err
			}
			*side.ops = operations(run.Run, side.file)
		}
		return nil
	})
	return more, less, err
}

// operations returns how many operations were done while a profile of the run was taken, 0 if that
// is not known.
func operations(run *results.Run, file string) (n uint64) {
	of := strings.TrimSuffix(file, results.ProfileExtension)
	if i := strings.LastIndexByte(of, '.'); i >= 0 {
		of = of[:i] // without the kind
	}
	for i := range run.Samples {
		if s := &run.Samples[i]; of == results.WholeRun || s.FileName() == of {
			n += s.Ops
		}
	}
	return n
}

// comparable returns an error if one profile cannot be subtracted from the other.
func comparable(x, y *profile.Profile) error {
	same := func(a, b *profile.ValueType) bool { return a.Type == b.Type && a.Unit == b.Unit }
	if !slices.EqualFunc(x.SampleType, y.SampleType, same) {
		return web.Bad("the profiles are of different kinds: only equal kinds can be compared")
	}
	if pprofui.IsEmpty(x) && pprofui.IsEmpty(y) {
		return web.NotFound("nothing was sampled in either profile")
	}
	return nil
}
