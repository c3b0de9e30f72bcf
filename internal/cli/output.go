package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/report"
	"github.com/mvccmap/mvccmap/internal/results"
)

// outputFlags are the flags that say what becomes of the results.
type outputFlags struct {
	Format string `help:"Format of the results: ${enum}. bench is the Go benchmark format, which benchstat reads, written as the run goes on; json keeps everything." enum:"${enum_formats}" default:"bench" placeholder:"FORMAT" group:"Output"`
	Output string `help:"Write the results to FILE instead of standard output." short:"o" placeholder:"FILE" group:"Output"`
	HGRM   string `name:"hgrm" help:"Write the latencies' percentile distribution to FILE, as HdrHistogram prints it; of several combinations each to its own file, the combination put before the ending." placeholder:"FILE" group:"Output"`
	Save   string `help:"Keep the run under NAME, which is not in use yet, for compare, report and runs, in the folder that the environment variable MVCCBENCH_DIR names, or in mvccbench/runs of the user's configuration." placeholder:"NAME" group:"Output"`
	Report string `help:"Draw charts of the results, and write them to FILE as one HTML page, which needs nothing else." placeholder:"FILE" group:"Output"`
}

// format is one of the formats of the results.
type format struct {
	name, doc string
	write     func(w io.Writer, r *results.Run) error
}

// formats are those that --format can name.
var formats = []format{
	{"bench", "The Go benchmark format, for benchstat: a line for each sample, written as soon as it is verified. What may differ between runs that are compared is in comments.", results.WriteBench},
	{"table", "Medians for reading, and what they were measured on.", writeRunTable},
	{"json", "Everything: machine, arguments, outcome, each sample with its figures, percentiles and latency histogram (HdrHistogram, V2).", results.Write},
	{"csv", "A line for each sample, with a column for each figure, for spreadsheets.", results.WriteCSV},
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// output is where the results of a run go.
type output struct {
	flags  outputFlags
	run    results.Run
	stream *results.BenchWriter // of the format that is written as the run goes on; nil otherwise
	w      *bufio.Writer
	file   *os.File // nil if w writes to standard output
	store  *results.Store

	profiles map[string][]byte // to be kept with the run, by the names of their files
}

// open checks the flags and makes sure that everything they ask for can be
// written. An error names the flag, and then nothing has been touched.
func (f outputFlags) open(e *env) (*output, error) {
	o := &output{flags: f}
	if f.Save != "" {
		if err := results.CheckName(f.Save); err != nil {
			return nil, usagef("--save: %w", err)
		}
		var err error
		if o.store, err = results.OpenStore(); err != nil {
			return nil, usagef("--save: %w", err)
		}
		if o.store.Has(f.Save) {
			return nil, usagef("--save: there is a run called %s already; expected another name, or first %s runs rm %s", f.Save, e.Name, f.Save)
		}
		if err := o.store.Ready(); err != nil {
			return nil, usagef("--save: expected a folder that can be written, %s, or another in %s: %w", o.store.Dir(), results.DirEnv, err)
		}
	}
	if f.HGRM != "" {
		if err := canWrite(f.HGRM); err != nil {
			return nil, usagef("--hgrm: expected a file that can be written: %w", err)
		}
	}
	if f.Report != "" {
		if err := canWrite(f.Report); err != nil {
			return nil, usagef("--report: expected a file that can be written: %w", err)
		}
	}
	w := e.stdout
	if f.Output != "" {
		file, err := os.Create(f.Output)
		if err != nil {
			return nil, usagef("--output: expected a file that can be written: %w", err)
		}
		o.file, w = file, file
	}
	o.w = bufio.NewWriter(w)
	return o, nil
}

// canWrite reports whether a file of that name can be written, without touching it
// or leaving one behind.
func canWrite(name string) error {
	fi, err := os.Stat(name)
	switch {
	case err == nil && fi.IsDir():
		return fmt.Errorf("%s is a folder", name)
	case err == nil:
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	if _, err := os.Stat(filepath.Dir(name)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".mvccbench-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// begin writes what is known before the first sample. It fills in the machine.
func (o *output) begin(h results.Header) error {
	h.Machine = results.ThisMachine()
	o.run.Header = h
	if o.flags.Format == "bench" {
		o.stream = results.NewBenchWriter(o.w, h)
	}
	return o.flush()
}

// instrument says that what is measured from now on is slowed down by something
// that looks into it, and by what.
func (o *output) instrument(how string) {
	o.run.Header.Instrumented = how
	if o.stream != nil {
		o.stream.Instrument(how)
	}
}

// sample takes a sample that has been verified.
func (o *output) sample(c bench.Config, m bench.Measurement) error {
	s, err := results.NewSample(c, m)
	if err != nil {
		return err
	}
	o.run.Samples = append(o.run.Samples, s)
	if o.stream != nil {
		o.stream.Sample(&s)
	}
	return o.flush()
}

// end writes what is left to be written, closes the file and returns what must be
// said about it, in lines. The first error does not keep the rest from being
// written.
func (o *output) end(outcome results.Outcome) (notes []string, err error) {
	outcome.Done = len(o.run.Samples)
	o.run.Outcome = outcome
	if o.stream != nil {
		o.stream.Outcome(outcome)
	} else {
		i := formatIndex(o.flags.Format)
		err = formats[i].write(o.w, &o.run)
	}
	err = errors.Join(err, o.flush())
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
	}
	if err != nil {
		err = fmt.Errorf("writing the results: %w", err)
	}
	if len(o.run.Samples) == 0 {
		return notes, err
	}
	if o.flags.HGRM != "" {
		files, e := writeDistributions(o.flags.HGRM, &o.run)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("writing the latencies: %w", e))
		}
		if len(files) > 1 {
			notes = append(notes, fmt.Sprintf("latencies: %d files, %s to %s", len(files), files[0], files[len(files)-1]))
		}
	}
	if o.flags.Save != "" {
		if e := o.store.SaveProfiled(o.flags.Save, &o.run, o.profiles); e != nil {
			err = errors.Join(err, e)
		} else {
			notes = append(notes, fmt.Sprintf("saved as %s in %s", o.flags.Save, o.store.Dir()))
		}
	}
	if o.flags.Report != "" {
		if e := report.Write(o.flags.Report, &o.run); e != nil {
			err = errors.Join(err, fmt.Errorf("drawing the charts: %w", e))
		} else {
			notes = append(notes, "charts: "+o.flags.Report)
		}
	}
	return notes, err
}

func formatIndex(name string) int {
	for i, f := range formats {
		if f.name == name {
			return i
		}
	}
	return 0
}

// flush makes what has been written visible, and returns the first error.
func (o *output) flush() error {
	if o.stream != nil && o.stream.Err() != nil {
		return fmt.Errorf("writing the results: %w", o.stream.Err())
	}
	if err := o.w.Flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// summary writes the medians as a table, for people, unless standard output has
// had it already.
func (o *output) summary(w io.Writer) {
	if o.flags.Format != "table" || o.file != nil {
		_ = writeMedians(w, &o.run, terminalWidth(w)) // w is where an error would be reported
	}
}

// writeDistributions writes the percentile distributions of a run and returns the
// files: name itself if there is one distribution, or one for each combination and
// kind of latency.
func writeDistributions(name string, r *results.Run) ([]string, error) {
	type part struct {
		cell *results.Cell
		kind string
	}
	var parts []part
	for _, c := range r.Cells() {
		for _, kind := range []string{results.Service, results.Response} {
			if _, n := c.Distribution(kind); n > 0 {
				parts = append(parts, part{c, kind})
			}
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("no operation was timed")
	}
	kinds := map[string]bool{}
	for _, p := range parts {
		kinds[p.kind] = true
	}
	ext := filepath.Ext(name)
	var files []string
	for _, p := range parts {
		file := name
		if len(parts) > 1 {
			file = strings.TrimSuffix(name, ext) + "-" + p.cell.Samples[0].FileName()
			if len(kinds) > 1 {
				file += "-" + p.kind
			}
			file += ext
		}
		var b strings.Builder
		_ = p.cell.WritePercentiles(&b, p.kind, r.Mark()) // b takes anything
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}
