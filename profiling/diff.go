package profiling

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// A subject is what pprof's pages show: a capture, or what it has more than
// another. Its name is the part of their path that says which: "7", "7-3", or
// "7-3-share" where both are scaled to the same total.
type subject struct {
	of, base *capture // base is nil without a comparison
	share    bool
}

// subject finds what a path names.
func (s *service) subject(name string) (subject, error) {
	var sub subject
	of, base, compared := strings.Cut(name, "-")
	c, err := s.capture(of)
	if err != nil {
		return sub, err
	}
	sub.of = c
	if !compared {
		return sub, nil
	}
	base, sub.share = strings.CutSuffix(base, "-share")
	if sub.base, err = s.capture(base); err != nil {
		return sub, err
	}
	return sub, sub.check()
}

func (sub subject) name() string {
	if sub.base == nil {
		return strconv.Itoa(sub.of.ID)
	}
	name := fmt.Sprintf("%d-%d", sub.of.ID, sub.base.ID)
	if sub.share {
		name += "-share"
	}
	return name
}

// check returns an error if captures cannot be compared.
func (sub subject) check() error {
	switch {
	case sub.of == sub.base:
		return refuse(http.StatusBadRequest, "a capture does not differ from itself: choose two")
	case sub.of.Kind != sub.base.Kind:
		return refuse(http.StatusBadRequest, "capture %d is of kind %s and capture %d of kind %s: only equal kinds can be compared",
			sub.of.ID, sub.of.Kind, sub.base.ID, sub.base.Kind)
	case sub.of.Empty && sub.base.Empty:
		return refuse(http.StatusNotFound, "nothing was sampled in either capture")
	}
	return nil
}

// empty reports whether there is nothing to show.
func (sub subject) empty() bool { return sub.base == nil && sub.of.Empty }

// profiles returns the profile to show, and what to take from it, or nil.
func (sub subject) profiles() (p, base *profile.Profile, err error) {
	if p, err = profile.ParseData(sub.of.Data); err != nil || sub.base == nil {
		return p, nil, err
	}
	if base, err = profile.ParseData(sub.base.Data); err != nil {
		return nil, nil, err
	}
	if sub.share {
		scaleTo(base, p)
	}
	p.Comments = append(p.Comments, fmt.Sprintf("Difference: capture %d minus capture %d", sub.of.ID, sub.base.ID))
	return p, base, nil
}

// scaleTo gives p the totals of like, value by value.
func scaleTo(p, like *profile.Profile) {
	ratios := make([]float64, len(p.SampleType))
	for i := range ratios {
		ratios[i] = 1
		if from, to := total(p, i), total(like, i); from != 0 && to != 0 {
			ratios[i] = to / from
		}
	}
	p.ScaleN(ratios)
}

// total sums value i over all samples, 0 if there is no such value.
func total(p *profile.Profile, i int) (sum float64) {
	for _, s := range p.Sample {
		if i < len(s.Value) {
			sum += float64(s.Value[i])
		}
	}
	return sum
}

// uiDiff redirects from the form that compares two captures to their pages.
func (s *service) uiDiff(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name := query.Get("of") + "-" + query.Get("base")
	if query.Get("scale") == "share" {
		name += "-share"
	}
	sub, err := s.subject(name)
	if err != nil {
		writeError(w, err)
		return
	}
	redirect(w, "./"+sub.name()+"/flamegraph")
}
