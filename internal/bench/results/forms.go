package results

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// A HistogramLog writes the times of each interval as a histogram log of HdrHistogram, format
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
// other programs have it. The tag names their kind: a log may have intervals of several things.
func (l *HistogramLog) Interval(
	tag string, from time.Time, length time.Duration, d bench.Distribution,
) error {
	if tag != "" {
		tag = "Tag=" + strings.NewReplacer(",", ";", " ", "_", "\n", "_", "\r", "_").Replace(tag) + ","
	}
	fmt.Fprintf(l.w, "%s%.3f,%.3f,%.3f,%s\n", tag, from.Sub(l.start).Seconds(), length.Seconds(),
		float64(d.Max())/1e6, encodeHistogram(histogram(d)))
	return l.w.Flush()
}
