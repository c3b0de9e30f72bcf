package etcd

import (
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling/prom"
)

// Each field of Stats is in one of the Values, whose names are good for Prometheus.
func TestValues(t *testing.T) {
	none := Stats{}.values()
	for i := range reflect.TypeFor[Stats]().NumField() {
		field := reflect.TypeFor[Stats]().Field(i)
		if !field.IsExported() {
			continue
		}
		var s Stats
		if v := reflect.ValueOf(&s).Elem().Field(i); v.CanUint() {
			v.SetUint(7)
		} else {
			v.SetInt(7)
		}
		require.NotEqual(t, none, s.values(), "%s is in no value", field.Name)
	}
	w := httptest.NewRecorder()
	values := func() []prom.Value { return Stats{Commits: 1}.values() }
	prom.Handler(nil, nil, map[string]func() []prom.Value{"bank": values}).
		ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), "# TYPE mvccmap_etcd_commits_total counter\n"+
		`mvccmap_etcd_commits_total{of="bank"} 1`)
	for _, v := range none {
		require.NotEmpty(t, v.Help)
		require.Regexp(t, `^mvccmap_etcd_[a-z_]+$`, v.Metric)
	}
}
