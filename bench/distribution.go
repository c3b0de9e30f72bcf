package bench

import (
	"iter"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/hist"
)

// A Distribution tells how long the timed operations of a run took. Every value is
// known to within half a percent, the maximum exactly. The zero Distribution is empty.
// It is a reference: copies share its histogram.
type Distribution struct{ h *hist.Hist }

// none is the histogram of an empty Distribution.
var none hist.Hist

func (d Distribution) hist() *hist.Hist {
	if d.h == nil {
		return &none
	}
	return d.h
}

// Count returns the number of operations that were timed.
func (d Distribution) Count() uint64 { return d.hist().Count() }

// Mean returns the mean, 0 if nothing was timed.
func (d Distribution) Mean() time.Duration { return time.Duration(d.hist().Mean()) }

// Max returns the longest time, 0 if nothing was timed.
func (d Distribution) Max() time.Duration { return time.Duration(d.hist().Max()) }

// Quantile returns the time that a fraction q of the timed operations did not exceed. ok is false
// if fewer than ten operations took longer: too few to tell.
func (d Distribution) Quantile(q float64) (t time.Duration, ok bool) {
	if !d.hist().Supports(q) {
		return 0, false
	}
	return time.Duration(d.h.Quantile(q)), true
}

// All returns the times, shortest first, and how many operations took each.
func (d Distribution) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(t time.Duration, count uint64) bool) {
		for v, c := range d.hist().All() {
			if !yield(time.Duration(v), c) {
				return
			}
		}
	}
}

// Since returns the times of d that are not in old, which was read earlier from the same run. The
// maximum of the result is exact if it is also the maximum of d, and otherwise too large by less
// than a hundredth. Since allocates 36 KB.
func (d Distribution) Since(old Distribution) Distribution {
	recent := new(hist.Hist)
	recent.Merge(d.hist())
	recent.Sub(old.hist())
	return Distribution{recent}
}

// recorders keep the times of a run. In a closed loop the response time is the
// service time, and is not kept twice.
type recorders struct {
	service  hist.Recorder
	response *hist.Recorder // nil in a closed loop
	each     []*recorders   // by operation; nil if all are of one kind
}

// maxRecorders bounds the recorders of a trial. Up to so many goroutines have a recorder each; more
// goroutines share them, since most are waiting anyway.
const maxRecorders = 256

func newRecorders(threads int, paced bool, operations int) []*recorders {
	list := make([]*recorders, min(threads, maxRecorders))
	for i := range list {
		list[i] = new(recorders)
		if paced {
			list[i].response = new(hist.Recorder)
		}
		if operations > 0 {
			list[i].each = newRecorders(operations, paced, 0)
		}
	}
	return list
}

func (r *recorders) reset() {
	for _, one := range r.each {
		one.reset()
	}
	r.service.Reset()
	if r.response != nil {
		r.response.Reset()
	}
}

// collect copies the times of the recorders into service and response, whose histograms it uses
// again if there are any.
func collect(list []*recorders, service, response *Distribution) {
	into := func(d *Distribution) *hist.Hist {
		if d.h == nil {
			d.h = new(hist.Hist)
		}
		d.h.Reset()
		return d.h
	}
	if list[0].response == nil {
		h := into(service)
		for _, r := range list {
			r.service.AddTo(h)
		}
		*response = *service
		return
	}
	if service.h == response.h { // the last use was in a closed loop
		response.h = nil
	}
	s, p := into(service), into(response)
	for _, r := range list {
		r.service.AddTo(s)
		r.response.AddTo(p)
	}
}
