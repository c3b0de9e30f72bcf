package results

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// ofOperation begins the units of figures of one kind of operation, of a workload that has several:
// "read:p99-ns" are those of read.
const ofOperation = ":"

// operationUnits are the figures that each kind of operation has.
var operationUnits = []string{"ops/s", "p50-ns", "p99-ns", "p99.9-ns",
	ResponsePrefix + "p99-ns", ResponsePrefix + "p99.9-ns"}

// operationFigures returns the figures of each kind of operation.
func operationFigures(m bench.Measurement) map[string]float64 {
	f := map[string]float64{}
	for _, o := range m.Operations {
		set := func(unit string, v float64) {
			metric, _ := MetricByUnit(unit)
			f[o.Name+ofOperation+unit] = metric.Round(v)
		}
		if m.Wall > 0 {
			set("ops/s", float64(o.Ops)/m.Wall.Seconds())
		}
		for _, q := range Quantiles {
			for prefix, d := range map[string]bench.Distribution{"": o.Service,
				ResponsePrefix: o.Response} {
				t, ok := d.Quantile(q.Q)
				if unit := prefix + q.Unit; ok && slices.Contains(operationUnits, unit) &&
					(prefix == "" || m.Rate > 0) {
					set(unit, float64(t))
				}
			}
		}
	}
	return f
}

// OfOperation reports whether unit is that of a figure of one kind of operation.
func OfOperation(unit string) bool { return strings.Contains(unit, ofOperation) }

// Operations returns the names of the kinds of operation of which the cell has figures.
func (c *Cell) Operations() (names []string) {
	for _, s := range c.Samples {
		for unit := range s.Metrics {
			name, _, ok := strings.Cut(unit, ofOperation)
			if ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// OperationRows returns the medians of the figures of each kind of operation as a table, the header
// first; nil if cells have none.
func OperationRows(cells []*Cell) [][]string {
	rows := [][]string{{"operation", "workload", "threads", "engine"}}
	heads := map[string]string{"ops/s": "ops/s", "p50-ns": "p50", "p99-ns": "p99", "p99.9-ns": "p99.9",
		ResponsePrefix + "p99-ns": "resp p99", ResponsePrefix + "p99.9-ns": "resp p99.9"}
	var units []string
	for _, unit := range operationUnits {
		if slices.ContainsFunc(cells, func(c *Cell) bool {
			return slices.ContainsFunc(c.Operations(), func(name string) bool {
				return len(c.Values(name+ofOperation+unit)) > 0
			})
		}) {
			units = append(units, unit)
			rows[0] = append(rows[0], heads[unit])
		}
	}
	for _, group := range Grouped(cells, func(c *Cell) string { return c.Title }) {
		var names []string
		for _, c := range group {
			names = append(names, c.Operations()...)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			operation := name
			for _, c := range group {
				row := []string{operation, c.Title, strconv.Itoa(c.Threads), c.Engine}
				operation = ""
				for _, unit := range units {
					text := "-"
					if v := c.Values(name + ofOperation + unit); len(v) > 0 {
						text = shown(unit, Median(v), humanize.Number)
					}
					row = append(row, text)
				}
				rows = append(rows, row)
			}
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}
