package cli

import (
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// listCmd is "mvccbench list".
type listCmd struct{}

// Run describes everything that can be named on the command line and that
// appears in the output.
func (c *listCmd) Run(e *Env) error {
	w := &textWriter{w: e.stdout, width: 80}
	w.listWorkloads(e)
	w.line("")
	w.listEngines(e)
	w.line("")
	w.listMetrics()
	return w.err
}

func (t *textWriter) listWorkloads(e *Env) {
	t.line("Workloads (--workload). One operation is one transaction, retried until it has committed.")
	for _, wl := range e.Workloads {
		t.entry(wl.Name, wl.Doc)
		if params := describeParams(wl); params != "" {
			t.wrap(indent, indent+"  ", params)
		}
	}
	t.line("")
	t.line("One of your own is a function in Go: examples/workload, and package bench.")
	t.line("")
	t.line("Every sample has a new map and is verified before its figures are printed: final " +
		"values, reads that never go back, sums. An engine that fails ends the run with exit code 3.")
}

func (t *textWriter) listEngines(e *Env) {
	t.line("Engines (--engine).")
	for _, en := range e.Engines {
		t.entry(en.Name, en.Doc+"."+levels(en)+lacks(en, e.Workloads))
	}
}

// levels says which levels of isolation an engine has a choice of.
func levels(e bench.EngineSpec) string {
	if len(e.Levels) == 0 {
		return ""
	}
	names := namesOf(e.Levels, func(l bench.Isolation) string { return string(l) })
	return " Isolation: " + strings.Join(names, " or ") + "."
}

// lacks names the workloads that an engine cannot run, by the reason.
func lacks(e bench.EngineSpec, workloads []bench.Workload) string {
	var reasons []string
	names := map[string][]string{}
	for _, w := range workloads {
		why, ok := e.Runs(w)
		if ok {
			continue
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], w.Name)
	}
	text := ""
	for _, why := range reasons {
		text += fmt.Sprintf(" Does not run %s: %s.", strings.Join(names[why], ", "), why)
	}
	return text
}

func (t *textWriter) listMetrics() {
	t.line("Metrics. In the Go benchmark format a line begins with its name, which says workload, " +
		"engine, threads and whatever parameter is not the default, and the number of operations. In " +
		"JSON the names are the same. benchstat and compare show seconds for nanoseconds. " +
		"Where nothing is said of how a figure is measured, it is as the one above it.")
	t.line("")
	t.line("Where a workload has several operations, each has ops/s, p50-ns, p99-ns and " +
		"p99.9-ns, and with --rate response times, of its own: read:p99-ns. Compare shows them if " +
		"--unit names them.")
	before := ""
	for _, m := range results.Metrics() {
		doc := fmt.Sprintf("%s; %s is better.", sentence(m.Doc), m.Better)
		if m.How != before {
			doc += fmt.Sprintf(" Measured: %s.", m.How)
		}
		before = m.How
		t.entry(m.Unit, doc)
	}
}

// sentence begins text with a capital, unless it begins with a name.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// describeParams lists the parameters of a workload, with their defaults and
// their other values.
func describeParams(w bench.Workload) string {
	var parts []string
	for _, p := range results.Parameters(bench.Config{Workload: w,
		AuditInterval: bench.DefaultAuditInterval}) {
		part := fmt.Sprintf("--%s %s", p.Name, p.Value)
		if r := w.Range(p.Name); r != "" {
			part += " (" + r + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Defaults: " + strings.Join(parts, ", ")
}

// indent is where the text of an entry begins.
const indent = "               "

// entry writes the meaning of a name beside it or, if the name is long, below it.
func (t *textWriter) entry(name, doc string) {
	head := fmt.Sprintf("  %-*s ", len(indent)-3, name)
	if len(head) > len(indent) {
		t.wrap("  "+name, "", "")
		head = indent
	}
	t.wrap(head, indent, doc)
}
