package results

import (
	"fmt"
	"io"
	"iter"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The kinds of latencies.
const (
	Service  = "service"  // from the moment at which an operation began
	Response = "response" // from the moment at which it was due
)

// Latency is the distribution of one kind of latencies of a sample.
type Latency struct {
	Kind  string `json:"kind"`  // Service or Response
	Count uint64 `json:"count"` // timed operations
	Max   int64  `json:"max_ns"`

	// Percentiles are those that at least ten timed operations exceeded.
	Percentiles []Percentile `json:"percentiles"`

	// Histogram is the whole distribution in the compressed V2 encoding of
	// HdrHistogram, in base64: nanoseconds, to three significant digits.
	Histogram string `json:"histogram"`
}

// Percentile is a latency that so many percent of the operations did not exceed.
type Percentile struct {
	Percent float64 `json:"percent"`
	Ns      int64   `json:"ns"`
}

// percents are the percentiles of a [Latency].
var percents = []float64{1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999}

const (
	highest = 1 << 43 // ns, more than two hours: what is longer counts as this
	digits  = 3
)

// NewLatency returns the distribution of latencies, in nanoseconds, that occurred
// count times each.
func NewLatency(kind string, counts iter.Seq2[int64, uint64], longest int64) (Latency, error) {
	h := hdrhistogram.New(1, highest, digits)
	for ns, n := range counts {
		if err := h.RecordValues(min(max(ns, 0), highest-1), int64(n)); err != nil {
			return Latency{}, fmt.Errorf("results: a latency of %d ns: %w", ns, err)
		}
	}
	l := Latency{
		Kind: kind, Count: uint64(h.TotalCount()), Max: longest, Percentiles: percentiles(h, longest),
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Latency{}, fmt.Errorf("results: encoding a histogram: %w", err)
	}
	l.Histogram = string(b)
	return l, nil
}

// decode returns the whole distribution.
func (l *Latency) decode() (h *hdrhistogram.Histogram, err error) {
	defer func() { // the library trusts some lengths in its input
		if p := recover(); p != nil {
			err = fmt.Errorf("the histogram of %s latencies is damaged: %v", l.Kind, p)
		}
	}()
	h, err = hdrhistogram.Decode([]byte(l.Histogram))
	if err != nil {
		return nil, fmt.Errorf("the histogram of %s latencies is damaged: %w", l.Kind, err)
	}
	if uint64(h.TotalCount()) != l.Count {
		return nil, fmt.Errorf("the histogram of %s latencies has %d values instead of %d", l.Kind, h.TotalCount(), l.Count)
	}
	return h, nil
}

// Distribution returns the percentiles of one kind of latencies over all samples
// of the cell, and how many latencies there were: 0 if none of that kind. Only
// percentiles that at least ten of them exceeded are in it.
func (c *Cell) Distribution(kind string) ([]Percentile, uint64, error) {
	h, err := c.merged(kind)
	if err != nil || h == nil {
		return nil, 0, err
	}
	return percentiles(h, h.Max()), uint64(h.TotalCount()), nil
}

// percentiles returns those percentiles that at least ten values exceed, none above longest.
func percentiles(h *hdrhistogram.Histogram, longest int64) []Percentile {
	list := []Percentile{}
	for _, p := range percents {
		if float64(h.TotalCount())*(1-p/100) >= 10-1e-6 {
			list = append(list, Percentile{p, min(h.ValueAtPercentile(p), longest)})
		}
	}
	return list
}

// merged returns the latencies of one kind of all samples of the cell, or nil if
// there are none.
func (c *Cell) merged(kind string) (*hdrhistogram.Histogram, error) {
	var sum *hdrhistogram.Histogram
	for _, s := range c.Samples {
		for i := range s.Latency {
			if s.Latency[i].Kind != kind || s.Latency[i].Count == 0 {
				continue
			}
			h, err := s.Latency[i].decode()
			if err != nil {
				return nil, fmt.Errorf("%s, sample %d: %w", s.Name(1), s.Index, err)
			}
			if sum == nil {
				sum = hdrhistogram.New(1, highest, digits)
			}
			sum.Merge(h)
		}
	}
	return sum, nil
}

// ticksPerHalf is how many lines there are in a percentile distribution for each
// halving of the distance to 100 %: as in the other tools that write them.
const ticksPerHalf = 5

// WritePercentiles writes the distribution of one kind of latencies of the cell as
// HdrHistogram prints it, for its plotter: nanoseconds, from 0 to 100 %. Comments
// begin with "#[". It returns false, and writes nothing, if there is none.
func (c *Cell) WritePercentiles(w io.Writer, kind, mark string) (bool, error) {
	h, err := c.merged(kind)
	if err != nil || h == nil {
		return false, err
	}
	if _, err := h.PercentilesPrint(w, ticksPerHalf, 1); err != nil {
		return false, err
	}
	text := fmt.Sprintf("#[%s, engine %s, %d threads: %s latency in ns, %d samples]\n", c.Title, c.Engine, c.Threads, kind, len(c.Samples))
	if mark != "" {
		text += fmt.Sprintf("#[%s]\n", oneLine(mark))
	}
	_, err = io.WriteString(w, text)
	return err == nil, err
}
