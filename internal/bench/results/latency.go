package results

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mvccmap/mvccmap/internal/bench/hist"
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

	// Percentiles has the percentiles that at least ten timed operations exceeded.
	Percentiles []Percentile `json:"percentiles"`

	// Histogram is the whole distribution, in nanoseconds, in the compressed V2 encoding of
	// HdrHistogram, in base64.
	Histogram string `json:"histogram"`
}

// Percentile is a latency that a percentage of the operations did not exceed.
type Percentile struct {
	Percent float64 `json:"percent"`
	Ns      int64   `json:"ns"`
}

// percents are the percentiles of a [Latency].
var percents = []float64{1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999}

// NewLatency returns the record of a distribution of nanoseconds.
func NewLatency(kind string, h *hist.Hist) Latency {
	return Latency{
		Kind: kind, Count: h.Count(), Max: h.Max(), Percentiles: percentiles(h),
		Histogram: encodeHistogram(h),
	}
}

// decode returns the whole distribution.
func (l *Latency) decode() (*hist.Hist, error) {
	h, err := DecodeHistogram(l.Histogram)
	if err != nil {
		return nil, fmt.Errorf("the histogram of %s latencies is damaged: %w", l.Kind, err)
	}
	if n := h.Count(); n != l.Count {
		return nil, fmt.Errorf("the histogram of %s latencies has %d values instead of %d",
			l.Kind, n, l.Count)
	}
	h.Add(l.Max, 0)
	return h, nil
}

// encodeHistogram returns counts in the compressed V2 encoding of HdrHistogram, in base64. With two
// significant digits its buckets are those of package hist. The exact maximum is not in it.
func encodeHistogram(h *hist.Hist) string {
	all := hdrhistogram.New(1, 1<<hist.MaxBits-1, 2)
	for value, count := range h.All() {
		if err := all.RecordValues(value, int64(count)); err != nil {
			panic(err) // there is a bucket for each
		}
	}
	text, err := all.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err) // memory is not refused
	}
	return string(text)
}

// DecodeHistogram reads the encoding of any HdrHistogram of integers. The maximum of the result is
// the lower end of the last bucket: [hist.Hist.Add] of the real maximum, 0 times, corrects it.
func DecodeHistogram(text string) (*hist.Hist, error) {
	all, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	h := new(hist.Hist)
	for _, bar := range all.Distribution() {
		if bar.Count > 0 {
			h.Add(bar.From, uint64(bar.Count))
		}
	}
	return h, nil
}

// Distribution returns the percentiles of one kind of latencies over all samples of the cell, if at
// least ten latencies exceeded them, and how many latencies there were.
func (c *Cell) Distribution(kind string) ([]Percentile, uint64) {
	h := c.merged(kind)
	return percentiles(h), h.Count()
}

// percentiles returns those percentiles that at least ten values exceed.
func percentiles(h *hist.Hist) []Percentile {
	list := []Percentile{}
	for _, p := range percents {
		if h.Supports(p / 100) {
			list = append(list, Percentile{p, h.Quantile(p / 100)})
		}
	}
	return list
}

// merged returns the latencies of one kind of all samples of the cell.
func (c *Cell) merged(kind string) *hist.Hist {
	sum := new(hist.Hist)
	for _, s := range c.Samples {
		for _, l := range s.Latency {
			if l.Kind != kind {
				continue
			}
			if h, err := l.decode(); err == nil { // a record that was read has been checked
				sum.Merge(h)
			}
		}
	}
	return sum
}
