package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/report"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// outputFlags are the destinations of the results.
type outputFlags struct {
	Output string `help:"Write the results to FILE, which there is not yet, instead of standard output. A name that ends in .json: as JSON, which keeps everything, histograms and profiles too. Any other: in the Go benchmark format, for benchstat, a line for each sample as soon as it is verified. On a terminal there is a table instead." short:"o" placeholder:"FILE" group:"Output"`
	Report string `help:"Draw charts of the results, and write them to FILE as one HTML page, which needs nothing else." placeholder:"FILE" group:"Output"`
}

// json reports whether the results go into a file as JSON.
func (f outputFlags) json() bool { return strings.HasSuffix(f.Output, ".json") }

// output is where the results of a run go.
type output struct {
	flags  outputFlags
	run    results.Run
	stream *results.BenchWriter // of the format that is written as the run goes on; nil otherwise
	w      *bufio.Writer
	screen io.Writer // below w
	file   *os.File  // nil if that is standard output

	table   bool   // on standard output, a terminal, is a table
	subject string // the engine with which the others are compared
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
	w := e.stdout
	if f.Output != "" {
		if err := isNew("--output", f.Output); err != nil {
			return nil, err
		}
		file, err := os.Create(f.Output)
		if err != nil {
			return nil, usagef("--output: expected a file that can be written: %w", err)
		}
		o.file, w = file, file
	} else {
		o.table = isScreen(w)
	}
	o.screen, o.w = w, bufio.NewWriter(w)
	return o, nil
}

// isNew returns an error, which names the flag, if the named file is not empty: its content took
// time to measure.
func isNew(flag, name string) error {
	if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
		return usagef("%s: there is a file %s already; expected another name", flag, name)
	}
	return nil
}

// canWrite returns an error, which names the flag, if no file of that name can be written. It
// does not touch the file, nor leave one behind.
func canWrite(flag, name string) error {
	fi, none := os.Stat(name)
	if none == nil && !fi.Mode().IsRegular() && !fi.IsDir() { // such as a pipe
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err == nil {
		err = f.Close()
	}
	switch {
	case err != nil:
	case none != nil:
		err = os.Remove(name)
	case flag == "--report" && !report.IsPage(name):
		err = fmt.Errorf("%s is something else than a page of charts, and would be lost", name)
	}
	if err != nil {
		return usagef("%s: expected a file that can be written: %w", flag, err)
	}
	return nil
}

// begin writes the header, before the first sample.
func (o *output) begin(h results.Header) error {
	o.run.Header = h
	if !o.table && !o.flags.json() {
		o.stream = results.NewBenchWriter(o.w, h)
	}
	return o.flush()
}

// instrument says which instrument slows down the samples from now on.
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

// end writes the results that are left and closes the file. Unless quiet it says on stderr how the
// engines have come out. It goes on after an error, and returns all errors.
func (o *output) end(outcome results.Outcome, quiet bool, stderr io.Writer) (err error) {
	o.run.Outcome = outcome
	switch {
	case o.stream != nil:
		o.stream.Outcome(outcome)
	case !o.table:
		err = writing("results", results.Write(o.w, &o.run))
	}
	err = errors.Join(err, o.flush())
	if o.file != nil {
		err = errors.Join(err, writing("results", o.file.Close()))
	}
	switch {
	case o.table:
		err = errors.Join(err, writing("results", o.summary(o.screen)))
	case !quiet && outcome.Kind != results.Violated:
		_ = o.summary(stderr) // where an error would be reported
	}
	if len(o.run.Samples) == 0 || o.flags.Report == "" {
		return err
	}
	if e := report.Write(o.flags.Report, &o.run); e != nil {
		return errors.Join(err, fmt.Errorf("drawing the charts: %w", e))
	}
	if !quiet {
		fmt.Fprintln(stderr, "charts: "+o.flags.Report)
	}
	return err
}

func writing(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("writing the %s: %w", what, err)
	}
	return err
}

// flush makes the output so far visible, and returns the first error.
func (o *output) flush() error { return writing("results", o.w.Flush()) }
