package profiling_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// Nothing that a profile says becomes a part of the drawing's program, and none of
// its pages leads to other sites.
func TestGraphOfACraftedProfile(t *testing.T) {
	if _, err := exec.LookPath("dot"); err != nil {
		t.Skip("no dot command")
	}
	h := handler(t, profiling.Config{})
	const escape = `\" { x [URL="javascript:alert(1)" label="planted"] } //`
	const node = `x" { planted [URL="javascript:alert(1)" label="planted"]; subgraph "y`
	for _, evil := range []string{escape, node, `"]; planted [URL="javascript:alert(1)"]; "`, "\\\"\n];planted [URL=\"javascript:alert(1)\"];"} {
		for name, edit := range map[string]func(*profile.Profile){
			"mapping":       func(p *profile.Profile) { p.Mapping[0].File = "/bin/" + evil },
			"documentation": func(p *profile.Profile) { p.DocURL = "https://evil.example/" + evil },
			"function":      func(p *profile.Profile) { p.Function[0].Name = evil },
			"file":          func(p *profile.Profile) { p.Function[0].Filename = evil },
			"comment":       func(p *profile.Profile) { p.Comments = []string{evil} },
			"kind":          func(p *profile.Profile) { p.SampleType[0].Type = evil },
			"unit":          func(p *profile.Profile) { p.SampleType[0].Unit = evil },
			"label":         func(p *profile.Profile) { p.Sample[0].Label = map[string][]string{"a" + evil: {evil}} },
			"number": func(p *profile.Profile) {
				p.Sample[0].NumLabel, p.Sample[0].NumUnit = map[string][]int64{evil: {4}}, map[string][]string{evil: {evil}}
			},
		} {
			p, err := profile.ParseData(crafted(t, "main.work", "main.go", 1, 10))
			require.NoError(t, err)
			p.Mapping = []*profile.Mapping{{ID: 1, File: "/bin/program", Start: 1, Limit: 100}}
			p.Location[0].Mapping = p.Mapping[0]
			edit(p)
			var buf bytes.Buffer
			require.NoError(t, p.Write(&buf))
			w := request(h, fmt.Sprintf("/debug/pprof/ui/%d/graph", profiling.AddForeign(h, buf.Bytes())))
			require.Equal(t, http.StatusOK, w.Code, "%s %s: %s", name, evil, w.Body)
			require.Contains(t, w.Body.String(), "<svg")
			require.NotRegexp(t, `href="(javascript|https://evil)`, w.Body.String(), name)
		}
	}
}
