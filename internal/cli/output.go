package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/report"
	"github.com/mvccmap/mvccmap/internal/results"
)

// outputFlags are the flags that say what becomes of the results.
type outputFlags struct {
	Format string `help:"Format of the results: ${enum}. bench is the Go benchmark format, which benchstat reads, written as the run goes on; json keeps everything; auto is json into a file that ends in .json, a table that grows with the run on a terminal, and bench elsewhere." enum:"auto,${enum_formats}" default:"auto" placeholder:"FORMAT" group:"Output"`
	Output string `help:"Write the results to FILE, which there is not yet, instead of standard output." short:"o" placeholder:"FILE" group:"Output"`

	Overwrite bool `help:"Let --output replace a file." group:"Output"`

	Report string `help:"Draw charts of the results, and write them to FILE as one HTML page, which needs nothing else." placeholder:"FILE" group:"Output"`
}

// autoFormat is the format that goes by where the results go.
const autoFormat = "auto"

// format is one of the formats of the results.
type format struct {
	name, doc string
	write     func(w io.Writer, r *results.Run) error
}

// formats are those that --format can name.
var formats = []format{
	{"bench", "The Go benchmark format, for benchstat: a line for each sample, written as soon as " +
		"it is verified. What may differ between runs that are compared is in comments.",
		results.WriteBench},
	{"json", "Everything: machine, arguments, outcome, each sample with its figures, percentiles " +
		"and latency histogram (HdrHistogram, V2), and the profiles of --profile.", results.Write},
}

// output is where the results of a run go.
type output struct {
	flags  outputFlags
	run    results.Run
	stream *results.BenchWriter // of the format that is written as the run goes on; nil otherwise
	w      *bufio.Writer
	screen io.Writer // what w writes to
	file   *os.File  // nil if w writes to standard output

	// a table that is redrawn as the run goes on, and at its end stands on standard output
	live    bool
	subject string // the engine that the others are set beside
}

// open checks the flags and makes sure that everything they ask for can be
// written. An error names the flag, and then nothing has been touched.
func (f outputFlags) open(e *Env) (*output, error) {
	o := &output{flags: f}
	if f.Report != "" {
		if err := canWrite("--report", f.Report); err != nil {
			return nil, err
		}
	}
	o.flags.Format = f.format()
	o.live = f.Format == autoFormat && f.Output == "" && isScreen(e.stdout)
	w := e.stdout
	if f.Output != "" {
		file, err := createOutput(f.Output, f.Overwrite)
		if err != nil {
			return nil, err
		}
		o.file, w = file, file
	}
	o.screen, o.w = w, bufio.NewWriter(w)
	return o, nil
}

// format returns the format that --format means.
func (f outputFlags) format() string {
	switch {
	case f.Format != autoFormat:
		return f.Format
	case strings.HasSuffix(f.Output, ".json"):
		return "json"
	}
	return "bench"
}

// isNew returns an error, which names the flag, if there is a file of that name with something in
// it. What it holds took time to measure, and is overwritten only if that is asked for.
func isNew(flag, name string, overwrite bool) error {
	if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 && !overwrite {
		return usagef("%s: there is a file %s already; expected another name, or --overwrite", flag, name)
	}
	return nil
}

// createOutput creates the file of --output.
func createOutput(name string, overwrite bool) (*os.File, error) {
	if err := isNew("--output", name, overwrite); err != nil {
		return nil, err
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, usagef("--output: expected a file that can be written: %w", err)
	}
	return f, nil
}

// canWrite returns an error, which names the flag, if no file of that name can be written. It
// does not touch the file, nor leave one behind.
func canWrite(flag, name string) error {
	fi, err := os.Stat(name)
	switch {
	case err == nil && fi.IsDir():
		err = fmt.Errorf("%s is a folder", name)
	case err == nil:
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			err = f.Close()
		}
		if err == nil && flag == "--report" && fi.Mode().IsRegular() && !report.IsPage(name) {
			err = fmt.Errorf("%s is something else than a page of charts, and would be lost", name)
		}
	default:
		dir := filepath.Dir(name)
		if _, err = os.Stat(dir); err == nil {
			err = tryFile(dir)
		}
	}
	if err != nil {
		return usagef("%s: expected a file that can be written: %w", flag, err)
	}
	return nil
}

// tryFile creates a file in a folder, and removes it.
func tryFile(dir string) error {
	f, err := os.CreateTemp(dir, ".mvccbench-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// begin writes what is known before the first sample.
func (o *output) begin(h results.Header) error {
	o.run.Header = h
	if o.flags.Format == "bench" && !o.live {
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

// found takes the outcome of a search for a rate.
func (o *output) found(f results.FoundRate) {
	o.run.Found = append(o.run.Found, f)
	if o.stream != nil {
		o.stream.Comment("%s", f)
	}
}

// sample takes a sample that has been verified.
func (o *output) sample(c bench.Config, m bench.Measurement) error {
	s := results.NewSample(c, m)
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
	o.run.Outcome = outcome
	switch {
	case o.stream != nil:
		o.stream.Outcome(outcome)
	case o.live:
		err = writing("results", o.standings())
	default:
		i := slices.Index(formatNames(), o.flags.Format)
		err = writing("results", formats[max(i, 0)].write(o.w, &o.run))
	}
	err = errors.Join(err, o.flush())
	if o.file != nil {
		err = errors.Join(err, writing("results", o.file.Close()))
	}
	if len(o.run.Samples) == 0 {
		return notes, err
	}
	if o.flags.Report != "" {
		if e := report.Write(o.flags.Report, &o.run); e != nil {
			return notes, errors.Join(err, fmt.Errorf("drawing the charts: %w", e))
		}
		notes = append(notes, "charts: "+o.flags.Report)
	}
	return notes, err
}

func writing(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("writing the %s: %w", what, err)
	}
	return err
}

// standings writes how the engines have come out, and on what.
func (o *output) standings() error {
	width := terminalWidth(o.screen)
	for _, line := range results.DescribeMachine(o.run.Header) {
		(&textWriter{w: o.w, width: width}).wrap("", "  ", line)
	}
	fmt.Fprintln(o.w)
	if err := cmp.Or(writeStandings(o.w, &o.run, o.subject, width, hasColour(o.screen)),
		writeOperations(o.w, &o.run, width)); err != nil {
		return err
	}
	for _, f := range o.run.Found {
		fmt.Fprintln(o.w)
		(&textWriter{w: o.w, width: width}).wrap("", "  ", f.String())
	}
	if mark := o.run.Mark(); mark != "" {
		fmt.Fprintf(o.w, "\nNOTE: %s\n", mark)
	}
	return nil
}

// flush makes what has been written visible, and returns the first error.
func (o *output) flush() error { return writing("results", o.w.Flush()) }

// summary writes the medians as a table, for people.
func (o *output) summary(w io.Writer) {
	_ = writeMedians(w, &o.run, terminalWidth(w)) // w is where an error would be reported
	_ = writeOperations(w, &o.run, terminalWidth(w))
}
