package prom

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// A text is metrics in the text format of Prometheus, version 0.0.4.
type text struct {
	bytes.Buffer
	metric string // the last one with a head
}

var (
	escapeHelp  = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

// head begins a metric, unless it was begun last. All values of the metric, at least one, must
// follow before the next metric.
func (t *text) head(metric, kind, help string) {
	if t.metric == metric {
		return
	}
	t.metric = metric
	fmt.Fprintf(t, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", metric, escapeHelp.Replace(help), kind)
}

// value writes a value. Labels are names and values in turn; one without a name is left out.
func (t *text) value(name string, v float64, labels ...string) {
	t.WriteString(name)
	separator := "{"
	for ; len(labels) > 0; labels = labels[2:] {
		if labels[0] != "" {
			value := escapeLabel.Replace(labels[1])
			fmt.Fprintf(t, `%s%s="%s"`, separator, labels[0], value)
			separator = ","
		}
	}
	if separator == "," {
		t.WriteByte('}')
	}
	t.WriteString(" " + textOf(v) + "\n")
}

func textOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// one writes a metric that has one value, a counter if its name says so.
func (t *text) one(metric, help string, v float64) {
	t.head(metric, kindOf(metric), help)
	t.value(metric, v)
}

// kindOf returns the type of a metric, by its name.
func kindOf(metric string) string {
	if strings.HasSuffix(metric, "_total") {
		return "counter"
	}
	return "gauge"
}

// A Value is one figure of something that is no map: of a replica of module etcd, say.
type Value struct {
	// Metric is the name, in words joined by _; that of a counter ends with _total.
	Metric string
	Help   string // one sentence
	// Chart is the title of the chart in which the dashboard of package profiling draws the figure,
	// "" for none, and Name the title of its line there. A counter is drawn by its growth.
	Chart, Name string
	Value       float64

	_ struct{}
}

// writeValues writes the metrics of values, metric by metric.
func writeValues(t *text, sources map[string]func() []Value) {
	type one struct {
		of string
		Value
	}
	var names humanize.Names
	byMetric := map[string][]one{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		of := names.Valid(name)
		for _, v := range sources[name]() {
			byMetric[v.Metric] = append(byMetric[v.Metric], one{of, v})
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(byMetric)) {
		for _, v := range byMetric[metric] {
			t.head(metric, kindOf(metric), v.Help)
			t.value(metric, v.Value.Value, "of", v.of)
		}
	}
}
