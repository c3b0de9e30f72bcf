package results

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// A HistogramLog writes what happened in each interval as a histogram log of HdrHistogram, format
// 1.3: a line for each, with a whole histogram in the compressed V2 encoding. Programs that read
// such logs, as HistogramLogAnalyzer does, show the percentiles of any stretch.
type HistogramLog struct {
	w     *bufio.Writer
	start time.Time
}

// histogramLegend is the line above the first interval.
const histogramLegend = `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`

// NewHistogramLog writes the head of a log that starts now. Errors are kept for
// [HistogramLog.Interval].
func NewHistogramLog(w io.Writer, start time.Time, comment string) *HistogramLog {
	l := &HistogramLog{bufio.NewWriter(w), start}
	fmt.Fprintf(l.w, "#[%s]\n", strings.NewReplacer("\n", " ", "]", ")").Replace(comment))
	fmt.Fprintf(l.w, "#[Histogram log format version 1.3]\n")
	fmt.Fprintf(l.w, "#[StartTime: %.3f (seconds since epoch), %s]\n",
		float64(start.UnixMilli())/1e3, start.UTC().Format(time.UnixDate))
	fmt.Fprintf(l.w, "%s\n", histogramLegend)
	return l
}

// Interval writes the times, in nanoseconds, of an interval; their maximum is in milliseconds, as
// other programs have it. The tag says what they are of: a log may have intervals of several things.
func (l *HistogramLog) Interval(
	tag string, from time.Time, length time.Duration, d bench.Distribution,
) error {
	if tag != "" {
		tag = "Tag=" + strings.NewReplacer(",", ";", " ", "_", "\n", "_", "\r", "_").Replace(tag) + ","
	}
	fmt.Fprintf(l.w, "%s%.3f,%.3f,%.3f,%s\n", tag, from.Sub(l.start).Seconds(), length.Seconds(),
		float64(d.Max())/1e6, histogram(d).Encode())
	return l.w.Flush()
}

// csvFacts are the columns of [WriteCSV] before the metrics.
var csvFacts = []string{
	"workload", "title", "params", "engine", "level", "threads", "sample", "ops", "wall_ns",
	"interrupted", "noisy",
	"outcome", "samples", "samples_of", "instrumented", "started", "seed", "go", "goos", "goarch", "cpu", "gomaxprocs",
}

// WriteCSV writes a run as comma-separated values: a line with the names of the
// columns, then a line for each sample. Every line says how the whole run ended, how many samples
// it has, of how many that were asked for, and how it was instrumented: lines of several runs can
// be put together, and what is cut off is missed.
// A metric that a sample does not have is empty.
func WriteCSV(w io.Writer, r *Run) error {
	units := Units(r.Samples)
	rows := [][]string{slices.Concat(csvFacts, units)}
	for i := range r.Samples {
		s := &r.Samples[i]
		var params []string
		for _, p := range s.Params {
			params = append(params, p.Name+"="+p.Value)
		}
		line := []string{
			s.Workload, s.Title, strings.Join(params, " "), s.Engine, s.Level,
			strconv.Itoa(s.Threads), strconv.Itoa(s.Index), strconv.FormatUint(s.Ops, 10),
			strconv.FormatInt(int64(s.Wall), 10), strconv.FormatBool(s.Interrupted), s.Noisy,
			r.Outcome.Kind, strconv.Itoa(r.Outcome.Done), strconv.Itoa(r.Outcome.Of),
			r.Header.Instrumented, r.Header.Started.UTC().Format(time.RFC3339),
			strconv.FormatUint(r.Header.Seed, 10), r.Header.Go, r.Header.GOOS, r.Header.GOARCH,
			r.Header.CPU, strconv.Itoa(r.Header.GOMAXPROCS),
		}
		for _, unit := range units {
			text := ""
			if v, ok := s.Metrics[unit]; ok {
				text = strconv.FormatFloat(v, 'f', -1, 64)
			}
			line = append(line, text)
		}
		rows = append(rows, line)
	}
	return CSV.Write(w, rows, nil)
}
