package prom

import (
	"bytes"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// A text is metrics in the text format of Prometheus, version 0.0.4, or in that of OpenMetrics,
// version 1.0.0, which has exemplars.
type text struct {
	bytes.Buffer
	open   bool            // OpenMetrics
	metric string          // the last one with a head
	heads  map[string]bool // all families, by the names that OpenMetrics has for them
}

// The media types of both.
const (
	plainType = "text/plain; version=0.0.4; charset=utf-8"
	openType  = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// opens reports whether a client that accepts such answers rather has OpenMetrics: it says so,
// and does not say that it likes plain text better.
func opens(accept []string) bool {
	open, plain := 0., 0.
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.
		if q, ok := params["q"]; ok {
			weight, _ = strconv.ParseFloat(q, 64)
		}
		switch version := params["version"]; {
		case kind == "application/openmetrics-text" && (version == "" || version == "1.0.0"):
			open = max(open, weight)
		case kind == "text/plain":
			plain = max(plain, weight)
		}
	}
	return open > 0 && open >= plain
}

var (
	escapeHelp  = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

// head begins a metric, unless it is the last one begun. At least one value must follow, and all
// of its values before the next metric.
func (t *text) head(metric, kind, help string) {
	if t.metric == metric {
		return
	}
	t.metric = metric
	family, escape := metric, escapeHelp
	if t.open {
		escape = escapeLabel
		if kind == "counter" {
			family = strings.TrimSuffix(metric, "_total")
		}
		if t.heads[family] { // a gauge has the name that the counter would have
			family, kind = metric, "unknown"
		}
		if t.heads == nil {
			t.heads = map[string]bool{}
		}
		t.heads[family] = true
	}
	fmt.Fprintf(t, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", family, escape.Replace(help), kind)
}

// number returns a number as the value of a label: OpenMetrics has it look like no integer.
func (t *text) number(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if t.open && !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

// value writes a value. Labels are names and values in turn; one without a name is left out.
func (t *text) value(name string, v float64, labels ...string) {
	t.sample(name, v, labels...)
	t.WriteByte('\n')
}

// sample writes a value without the end of the line.
func (t *text) sample(name string, v float64, labels ...string) {
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
	t.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64))
}

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
	// Chart is the title of the chart that the dashboard of package profiling draws it in, "" for
	// none, and Name what it is called there. A counter is drawn by its growth.
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
	var names brief.Names
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
