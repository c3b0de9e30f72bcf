package mvcc

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Figure is the description of a field of [Stats].
type Figure struct {
	Field   string // of Stats
	Name    string // in logs and in the JSON form, which adds "_ns" to durations
	Help    string // a sentence or two that say what it is
	Unit    string // "s", "B", or "" for a number of something
	Counter bool   // it grows, and Sub subtracts it; otherwise it is a gauge
	Table   bool   // a table of a [DB] has it as well, see [Map.Stats]

	// Metric is the name for Prometheus, without "mvccmap_", and none if it is a sum of other
	// figures. Those of one metric differ in Value, the value of its label Label.
	Metric, Label, Value string

	index int // of the field
}

// tableFigures are the fields that the statistics of a table have.
var tableFigures = []string{"Epoch", "Keys", "Entries", "Bytes",
	"Conflicts", "ReadConflicts", "ScanConflicts", "WriteConflicts"}

// Figures describes the fields of [Stats], in their order.
func Figures() []Figure { return slices.Clone(figures()) }

var figures = sync.OnceValue(func() (list []Figure) {
	stats := reflect.TypeFor[Stats]()
	add := func(f Figure) {
		field, ok := stats.FieldByName(f.Field)
		if !ok {
			panic("mvcc: Stats has no field " + f.Field)
		}
		var label string
		f.Metric, label, _ = strings.Cut(strings.TrimSuffix(f.Metric, "}"), "{")
		f.Label, f.Value, _ = strings.Cut(label, "=")
		switch {
		case field.Type == reflect.TypeFor[time.Duration]():
			f.Unit = "s"
		case strings.HasSuffix(f.Metric, "_bytes"):
			f.Unit = "B"
		}
		if f.Help == "" {
			f.Help = list[len(list)-1].Help
		}
		f.Table = slices.Contains(tableFigures, f.Field)
		f.Name, f.index = strings.TrimSuffix(field.Tag.Get("json"), "_ns"), field.Index[0]
		list = append(list, f)
	}
	describe(func(field, metric, help string) {
		add(Figure{Field: field, Metric: metric, Help: help})
	}, func(field, metric, help string) {
		add(Figure{Field: field, Metric: metric, Help: help, Counter: true})
	})
	return list
})

// Of returns the figure of s. Durations are in seconds.
func (f Figure) Of(s Stats) float64 {
	switch v := reflect.ValueOf(s).Field(f.index); {
	case f.Unit == "s":
		return time.Duration(v.Int()).Seconds()
	case v.CanUint():
		return float64(v.Uint())
	default:
		return float64(v.Int())
	}
}

// Sub returns what happened since old: its counters are those of s less those of
// old, its gauges are those of s.
func (s Stats) Sub(old Stats) Stats {
	now, before := reflect.ValueOf(&s).Elem(), reflect.ValueOf(&old).Elem()
	for _, f := range figures() {
		switch v := now.Field(f.index); {
		case !f.Counter:
		case v.CanUint():
			v.SetUint(v.Uint() - before.Field(f.index).Uint())
		default:
			v.SetInt(v.Int() - before.Field(f.index).Int())
		}
	}
	return s
}

// LogValue implements [slog.LogValuer]: a group of what is not zero, under the
// names that the JSON form has.
func (s Stats) LogValue() slog.Value {
	var attrs []slog.Attr
	v := reflect.ValueOf(s)
	for _, f := range figures() {
		if field := v.Field(f.index); !field.IsZero() {
			attrs = append(attrs, slog.Any(f.Name, field.Interface()))
		}
	}
	return slog.GroupValue(attrs...)
}
