package results

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
