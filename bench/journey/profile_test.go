package journey

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// sampled returns a CPU profile of stacks, each the innermost function first.
func sampled(t *testing.T, nanos []int64, stacks ...[]string) []byte {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{
		{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"},
	}}
	at := map[string]*profile.Location{}
	for i, names := range stacks {
		s := &profile.Sample{Value: []int64{1, nanos[i]}}
		for _, name := range names {
			if at[name] == nil {
				f := &profile.Function{ID: uint64(len(at) + 1), Name: name}
				at[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function = append(p.Function, f)
				p.Location = append(p.Location, at[name])
			}
			s.Location = append(s.Location, at[name])
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}

func TestProfile(t *testing.T) {
	const here = "github.com/mvccmap/mvccmap/bench/journey."
	const scan, put = here + "(*counted).lowest", here + "(*session).Put"
	data := sampled(t, []int64{50, 30, 20},
		[]string{"sync.(*Mutex).Lock", scan, put, "bench.run"},
		[]string{"runtime.asyncPreempt", scan, put, "bench.run"},
		[]string{"runtime.futex", "runtime.mcall"})
	p := new(Profile)
	require.NoError(t, p.add(data))
	require.InDelta(t, 0.8, p.Share("counted).lowest"), 1e-9)
	require.Zero(t, p.Share("nothing"))

	var b bytes.Buffer
	require.NoError(t, p.WriteFlame(&b, "a < b"))
	picture := b.String()
	require.NoError(t, xml.NewDecoder(strings.NewReader(picture)).Decode(new(struct{})))
	require.Contains(t, picture, "a &lt; b")
	require.Contains(t, picture, "journey.(*session).Put: 80.0 %")
	require.Contains(t, picture, "sync.(*Mutex).Lock: 50.0 %")
	require.Contains(t, picture, "the harness and the runtime: 20.0 %")
	require.NotContains(t, picture, "bench.run", "what is outside of the laboratory")

	require.NoError(t, p.add(sampled(t, []int64{7}, []string{"runtime.futex"})))
	require.Zero(t, p.Share("counted).lowest"), "of the last sample")
	require.ErrorContains(t, p.add([]byte("nonsense")), "reading the profile")

	p = new(Profile)
	require.True(t, p.Empty())
	require.NoError(t, p.WriteFlame(io.Discard, "nothing"))
	end := p.Around()
	new(Profile).Around()() // the process has one profiler
	end()
	require.NoError(t, p.Err)
}
