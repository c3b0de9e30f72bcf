package figures

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// filled returns statistics whose fields have values of their own, from base on.
func filled(base int64) (s mvcc.Stats) {
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.CanUint():
			f.SetUint(uint64(base + int64(i)))
		case f.CanInt():
			f.SetInt(base + int64(i))
		}
	}
	return s
}

// Every field of Stats is described, once and in its place.
func TestEveryFieldIsDescribed(t *testing.T) {
	stats, list := reflect.TypeFor[mvcc.Stats](), All()
	require.Equal(t, "_", stats.Field(stats.NumField()-1).Name)
	metrics := map[string]bool{}
	for i := range stats.NumField() - 1 {
		field := stats.Field(i)
		require.Greater(t, len(list), i, "%s is not described", field.Name)
		f := list[i]
		require.Equal(t, field.Name, f.Field, "a field that is not described, or out of its place")
		require.Equal(t, field.Tag.Get("json"), f.Name+map[bool]string{true: "_ns"}[f.Unit == "s"])
		require.Equal(t, field.Type == reflect.TypeFor[time.Duration](), f.Unit == "s", f.Field)
		require.Regexp(t, `^[A-Z].*\.$`, f.Help, f.Field)
		if f.Metric == "" {
			continue // a sum
		}
		require.Equal(t, f.Counter, strings.HasSuffix(f.Metric, "_total"), f.Metric)
		require.Equal(t, f.Unit == "s", strings.Contains(f.Metric, "_seconds"), f.Metric)
		require.Regexp(t, `^[a-z_]+$`, f.Metric)
		require.Equal(t, f.Label == "", f.Value == "", f.Metric)
		require.False(t, metrics[f.Metric+f.Value], "%s is another field as well", f.Metric)
		metrics[f.Metric+f.Value] = true
	}
	require.Len(t, list, stats.NumField()-1)
}

// Of gives each field, in seconds if it is a time.
func TestFigureOf(t *testing.T) {
	s := filled(3000)
	for i, f := range All() {
		want := float64(3000 + i)
		if f.Unit == "s" {
			want /= 1e9
		}
		require.InEpsilon(t, want, f.Of(s), 1e-12, f.Field)
	}
}
