package push

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	profilerpb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// taking is what the profiles of the tests took.
var taking = time.Unix(began, 5)

// sampled returns a profile with a stack of main, work and, inlined into that, step, and one of
// main alone, with those values.
func sampled(types []string, deep, flat []int64) *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x2000, File: "/bin/shop", BuildID: "abc",
		HasFunctions: true}
	var functions []*profile.Function
	for i, name := range []string{"main.main", "shop.work", "shop.step"} {
		functions = append(functions, &profile.Function{ID: uint64(i + 1), Name: name,
			SystemName: name, Filename: name + ".go", StartLine: 7})
	}
	main := &profile.Location{ID: 1, Mapping: m, Address: 0x1100,
		Line: []profile.Line{{Function: functions[0], Line: 11}}}
	work := &profile.Location{ID: 2, Mapping: m, Address: 0x1200,
		Line: []profile.Line{{Function: functions[2], Line: 13}, {Function: functions[1], Line: 12}}}
	p := &profile.Profile{
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		TimeNanos: taking.UnixNano(), DurationNanos: int64(time.Second),
		Mapping: []*profile.Mapping{m}, Location: []*profile.Location{main, work},
		Function: functions, Comments: []string{"selling"},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{work, main}, Value: deep,
				Label:    map[string][]string{"op": {"order"}, "shops": {"a", "b"}},
				NumLabel: map[string][]int64{"size": {64}}, NumUnit: map[string][]string{"size": {"bytes"}}},
			{Location: []*profile.Location{main}, Value: flat},
		},
	}
	for i := 0; i < len(types); i += 2 {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: types[i], Unit: types[i+1]})
	}
	return p
}

var cpuTypes = []string{"samples", "count", "cpu", "nanoseconds"}

// A stackSeen is a sample as a receiver understands it.
type stackSeen struct {
	Frames []string // the innermost first
	Labels map[string]string
	Value  int64
}

// A profileSeen is a profile of OTLP as a receiver understands it.
type profileSeen struct {
	Kind, Type, Unit string
	Start            time.Time
	Took             time.Duration
	Stacks           []stackSeen
}

// understand follows all indices of a request, which must be in order.
func understand(t *testing.T, r *profilerpb.ExportProfilesServiceRequest) (list []profileSeen) {
	t.Helper()
	d := r.Dictionary
	for _, first := range []proto.Message{d.MappingTable[0], d.LocationTable[0], d.FunctionTable[0],
		d.LinkTable[0], d.AttributeTable[0], d.StackTable[0]} {
		require.Zero(t, proto.Size(first))
	}
	require.Empty(t, d.StringTable[0])
	all := slices.Sorted(slices.Values(d.StringTable))
	require.Len(t, slices.Compact(slices.Clone(all)), len(all), "a text is there twice")
	attributes := func(indices []int32) map[string]string {
		all := map[string]string{}
		for _, i := range indices {
			a := d.AttributeTable[i]
			text := a.Value.GetStringValue()
			switch v := a.Value.GetValue().(type) {
			case *commonpb.AnyValue_IntValue:
				text = strconv.FormatInt(v.IntValue, 10)
			case *commonpb.AnyValue_ArrayValue:
				for _, one := range v.ArrayValue.Values {
					text += one.GetStringValue() + ";"
				}
			}
			all[d.StringTable[a.KeyStrindex]] = text + d.StringTable[a.UnitStrindex]
		}
		return all
	}
	frames := func(s *profilespb.Stack) (list []string) {
		for _, i := range s.LocationIndices {
			l := d.LocationTable[i]
			require.Equal(t, "go", attributes(l.AttributeIndices)["profile.frame.type"])
			if m := d.MappingTable[l.MappingIndex]; l.MappingIndex > 0 && d.StringTable[m.FilenameStrindex] == "/bin/shop" {
				require.Equal(t, "abc", attributes(m.AttributeIndices)["process.executable.build_id.gnu"])
			}
			for _, line := range l.Lines {
				f := d.FunctionTable[line.FunctionIndex]
				list = append(list, d.StringTable[f.NameStrindex]+":"+strconv.FormatInt(line.Line, 10))
			}
		}
		return list
	}
	require.Len(t, r.ResourceProfiles, 1)
	require.Equal(t, "shop", texts(r.ResourceProfiles[0].Resource.Attributes)["service.name"])
	for _, p := range r.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		require.Len(t, p.ProfileId, 16)
		require.NotEqual(t, make([]byte, 16), p.ProfileId)
		of := attributes(p.AttributeIndices)
		seen := profileSeen{Kind: of["mvccmap.profile"], Type: d.StringTable[p.SampleType.TypeStrindex],
			Unit: d.StringTable[p.SampleType.UnitStrindex], Start: time.Unix(0, int64(p.TimeUnixNano)),
			Took: time.Duration(p.DurationNano)}
		for _, s := range p.Samples {
			require.Len(t, s.Values, 1)
			seen.Stacks = append(seen.Stacks, stackSeen{frames(d.StackTable[s.StackIndex]),
				attributes(s.AttributeIndices), s.Values[0]})
		}
		list = append(list, seen)
	}
	return list
}

var labels = map[string]string{"op": "order", "shops": "a;b;", "size": "64bytes"}

// A profile with two values becomes two of OTLP, with all stacks, labels and times.
func TestOTLPProfiles(t *testing.T) {
	s, r := serve(t), receive(t)
	s.profiles["profile"] = sampled(cpuTypes, []int64{3, 30}, []int64{0, 10})
	p, _ := begin(t, Config{From: s.URL, Profiles: Target{URL: r.URL + "/v1development/profiles"},
		Kinds: []string{"cpu"}, Window: 1500 * time.Millisecond})
	got := r.await(t, 1)[0]
	require.Equal(t, "/v1development/profiles", got.path)
	require.Equal(t, []string{"/debug/pprof/profile?seconds=1.5"}, s.asked)
	deep := []string{"shop.step:13", "shop.work:12", "main.main:11"}
	none := map[string]string{}
	require.Empty(t, cmp.Diff([]profileSeen{
		{"cpu", "samples", "count", taking, time.Second, []stackSeen{{deep, labels, 3}}},
		{"cpu", "cpu", "nanoseconds", taking, time.Second,
			[]stackSeen{{deep, labels, 30}, {[]string{"main.main:11"}, none, 10}}},
	}, understand(t, profilesOf(t, got))))
	require.NoError(t, p.Close(t.Context()))
}

// Profiles that grow are sent as what came since the last time, without a gap in time; those of a
// program that has begun anew as they are. Live memory is as it is. What is empty is not sent.
func TestProfilesThatGrow(t *testing.T) {
	s, r := serve(t), receive(t)
	waits := []string{"contentions", "count", "delay", "nanoseconds"}
	memory := []string{"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count",
		"inuse_space", "bytes"}
	s.profiles["mutex"] = sampled(waits, []int64{3, 30}, []int64{5, 50})
	s.profiles["heap"] = sampled(memory, []int64{3, 30, 1, 10}, []int64{2, 20, 0, 0})
	p, _ := begin(t, Config{From: s.URL, Profiles: Target{URL: r.URL}, Kinds: []string{"mutex", "heap"},
		ProfilesEvery: 30 * time.Millisecond})
	all := func() (list []profileSeen) {
		for _, one := range r.requests() {
			list = append(list, understand(t, profilesOf(t, one))...)
		}
		return list
	}
	of := func(kind string) (list []profileSeen) {
		for _, one := range all() {
			if one.Kind == kind && one.Type != "contentions" && one.Type != "inuse_objects" {
				list = append(list, one)
			}
		}
		return list
	}
	await(t, "memory", func() bool { return len(of("heap")) > 1 })
	require.Empty(t, of("mutex"), "nothing came since the start")
	s.says(func(s *service) {
		s.profiles["mutex"] = sampled(waits, []int64{3, 30}, []int64{7, 90})
	})
	await(t, "growth", func() bool { return len(of("mutex")) > 0 })
	s.says(func(s *service) {
		s.profiles["mutex"] = sampled(waits, []int64{1, 8}, []int64{9, 95})
	})
	await(t, "another program", func() bool { return len(of("mutex")) > 1 })
	require.NoError(t, p.Close(t.Context()))

	mutex := of("mutex")
	require.Len(t, mutex, 2)
	main, deep := []string{"main.main:11"}, []string{"shop.step:13", "shop.work:12", "main.main:11"}
	require.Equal(t, []stackSeen{{main, map[string]string{}, 40}}, mutex[0].Stacks)
	require.ElementsMatch(t, []stackSeen{{deep, labels, 8}, {main, map[string]string{}, 95}},
		mutex[1].Stacks)
	require.Positive(t, mutex[0].Took)
	require.False(t, mutex[1].Start.Before(mutex[0].Start.Add(mutex[0].Took)))
	for _, one := range of("heap") {
		require.Equal(t, "inuse_space", one.Type)
		require.Equal(t, []stackSeen{{deep, labels, 10}}, one.Stacks)
		require.Zero(t, one.Took)
	}
}

// Pyroscope gets a form with the profile, the name with its labels, the times, and what the values
// are, as its own clients send it.
func TestPyroscope(t *testing.T) {
	s, r := serve(t), receive(t)
	s.profiles["profile"] = sampled(cpuTypes, []int64{3, 30}, []int64{1, 10})
	s.profiles["goroutine"] = sampled([]string{"goroutine", "count"}, []int64{3}, []int64{1})
	p, _ := begin(t, Config{From: s.URL, Kinds: []string{"cpu", "goroutine"}, Window: time.Millisecond,
		Labels:        map[string]string{"deployment.environment.name": "test"},
		ProfilesEvery: 50 * time.Millisecond,
		Pyroscope:     Target{URL: r.URL + "/pyro/", Headers: map[string]string{"X-Scope-OrgID": "us"}}})
	list := r.await(t, 2)
	require.NoError(t, p.Close(t.Context()))
	parts := func(one request) map[string][]byte {
		_, params, err := mime.ParseMediaType(one.header.Get("Content-Type"))
		require.NoError(t, err)
		all := map[string][]byte{}
		for form := multipart.NewReader(bytes.NewReader(one.body), params["boundary"]); ; {
			part, err := form.NextPart()
			if err == io.EOF {
				return all
			}
			require.NoError(t, err)
			all[part.FormName()], err = io.ReadAll(part)
			require.NoError(t, err)
		}
	}
	cpu := list[0]
	require.Equal(t, "/pyro/ingest", cpu.path)
	require.Equal(t, "us", cpu.header.Get("X-Scope-OrgID"))
	require.Regexp(t, `^shop{deployment_environment_name=test,service_instance_id=.+}$`,
		cpu.query.Get("name"))
	require.Equal(t, "100", cpu.query.Get("sampleRate"))
	require.Equal(t, strconv.FormatInt(taking.UnixNano(), 10), cpu.query.Get("from"))
	require.Equal(t, strconv.FormatInt(taking.Add(time.Second).UnixNano(), 10), cpu.query.Get("until"))
	form := parts(cpu)
	require.NotContains(t, form, "sample_type_config")
	got, err := profile.ParseData(form["profile"])
	require.NoError(t, err)
	require.Equal(t, s.profiles["profile"].String(), got.String())

	form = parts(list[1])
	var types map[string]map[string]string
	require.NoError(t, json.Unmarshal(form["sample_type_config"], &types))
	require.Equal(t, map[string]map[string]string{"goroutine": {"display-name": "goroutines",
		"units": "goroutines", "aggregation": "average"}}, types)
	from, err := strconv.ParseInt(list[1].query.Get("from"), 10, 64)
	require.NoError(t, err)
	until, err := strconv.ParseInt(list[1].query.Get("until"), 10, 64)
	require.NoError(t, err)
	require.Equal(t, int64(50*time.Millisecond), until-from)
	require.False(t, strings.Contains(list[1].query.Encode(), "sampleRate"))
}
