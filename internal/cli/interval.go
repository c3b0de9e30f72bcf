package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
)

// intervals makes the lines of --interval: how a sample goes on, each with what
// happened since the line before and on average since the sample began.
type intervals struct {
	recent
	rows int  // of the sample
	fine bool // they are less than a second apart
}

// A recent is how far a trial was when it was last read, and before that.
type recent struct {
	trial       *bench.Trial
	before, now bench.Live
}

// read reads t, and reports whether it says anything. What was before is nothing unless it is
// of the same run.
func (r *recent) read(t *bench.Trial) bool {
	r.before, r.now = r.now, r.before
	ok := t.ReadLive(&r.now)
	if !ok || r.trial != t || r.now.Run != r.before.Run {
		r.before = bench.Live{}
	}
	r.trial = t
	if !ok {
		r.trial = nil
	}
	return ok
}

// intervalQuantiles are the columns of quantiles: of the whole sample so far, so
// that there is something beyond them.
var intervalQuantiles = []float64{0.999, 0.9999, 0.99999}

// columns are the widths of the table, which fits into 80 columns.
var columns = []int{5, 7, 6, 7, 6, 6, 6, 7, 6, 7, 6, 6}

// header returns the two lines above the first row of a sample.
func (t *intervals) header(open bool) string {
	kind := "service time "
	if open {
		kind = "response time "
	}
	kind += strings.Repeat("-", 36-len(kind)) // above six columns
	return "       ops/s -----  " + kind + "  per second ------\n" +
		" time recent   avg recent   avg  99.9 99.99 99.999   max aborts  errs ctxsw"
}

// row returns one line of the table.
func row(cells []string) string {
	var b strings.Builder
	for i, text := range cells {
		fmt.Fprintf(&b, "%*s", columns[i], text)
	}
	return b.String()
}

// next returns the line of what t has done since the last one; ok is false if
// there is nothing to be said, as during the warm-up. The sample has run for
// elapsed, or, if it is zero, is still running.
func (t *intervals) next(trial *bench.Trial, elapsed time.Duration) (line string, ok bool) {
	if !t.read(trial) || !t.now.Measured {
		return "", false
	}
	if elapsed > 0 {
		t.now.Elapsed = elapsed
	}
	now, before := &t.now, &t.before
	span := (now.Elapsed - before.Elapsed).Seconds()
	if span <= 0 {
		return "", false
	}
	lately := now.Response.Since(before.Response)
	perSecond := func(now, before uint64) string {
		if now <= before {
			return "0"
		}
		return brief.Number(float64(now-before) / span)
	}
	mean := func(d bench.Distribution) string {
		if d.Count() == 0 {
			return "-"
		}
		return tiny(d.Mean())
	}
	cells := []string{
		seconds(now.Elapsed, t.fine),
		perSecond(now.Ops, before.Ops), brief.Number(float64(now.Ops) / now.Elapsed.Seconds()),
		mean(lately), mean(now.Response),
	}
	for _, q := range intervalQuantiles {
		text := "-"
		if v, ok := now.Response.Quantile(q); ok {
			text = tiny(v)
		}
		cells = append(cells, text)
	}
	longest, switches := "-", "-"
	if now.Response.Count() > 0 {
		longest = tiny(now.Response.Max())
	}
	if now.Switches > 0 {
		switches = perSecond(now.Switches, before.Switches)
	}
	cells = append(cells, longest, perSecond(now.Aborts, before.Aborts),
		perSecond(now.Errors, before.Errors), switches)
	t.rows++
	return row(cells), true
}

// tiny writes a time with three significant digits in at most five characters, if
// it is below a thousand seconds.
func tiny(d time.Duration) string {
	if d >= 99_950*time.Millisecond {
		return seconds(d, false)
	}
	return strings.NewReplacer(" ms", "m", " µs", "µ", " ns", "n", " ", "").Replace(brief.Time(d))
}

// seconds writes how long a sample has run, if fine to a hundredth.
func seconds(d time.Duration, fine bool) string {
	switch {
	case d >= 100*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case fine && d < 9_995*time.Millisecond:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
