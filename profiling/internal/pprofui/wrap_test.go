package pprofui

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// The driver cuts names for narrow boxes at points, also at those of [...].
func TestNarrowBoxesHaveNames(t *testing.T) {
	handlers, err := handlersOf(sampleOf("a/b.(*M[go.shape.int]).Get"), nil)
	require.NoError(t, err)
	a := httptest.NewRecorder()
	handlers["/flamegraph"].ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Contains(t, a.Body.String(), `"]).Get"`, "what is to be taken out")
	require.Contains(t, string(dropScraps(a.Body.Bytes())),
		`"Display":["b.(*M[...]).Get","(*M[...]).Get","Get"]`)
}

// sampleOf returns a profile of one sample in the named function.
func sampleOf(function string) *profile.Profile {
	f := &profile.Function{ID: 1, Name: function}
	loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{loc}, Value: []int64{1}}},
		Location:   []*profile.Location{loc}, Function: []*profile.Function{f},
	}
	shortenGenerics(p)
	return p
}

// Pages begin with a sample type of which there are samples.
func TestShownSampleType(t *testing.T) {
	for _, tt := range []struct {
		values []int64
		given  string // the default type
		want   string
	}{
		{[]int64{1, 1, 1}, "", "c"},
		{[]int64{1, 1, 1}, "a", "a"},
		{[]int64{1, 1, 0}, "", "b"},
		{[]int64{0, 1, 0}, "a", "b"},
		{[]int64{1, 0, 0}, "c", "a"},
		{[]int64{0, 0, 0}, "b", "b"},
	} {
		p := sampleOf("f")
		p.SampleType, p.DefaultSampleType = nil, tt.given
		for _, name := range []string{"a", "b", "c"} {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: "count"})
		}
		p.Sample[0].Value = tt.values
		showSamples(p, nil)
		require.Equal(t, tt.want, p.DefaultSampleType, tt)
		require.Equal(t, tt.values[0]+tt.values[1]+tt.values[2] == 0, IsEmpty(p), tt)
	}
}
