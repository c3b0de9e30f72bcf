package push

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// otlp makes a request of a profile.
func (c Config) otlp(t taken) (parcel, error) {
	body, err := packed(convert(t, c.attributes()))
	return parcel{what: "profile " + t.kind, url: c.Profiles.URL, header: protobuf, body: body}, err
}

// A dictionary is that of a request while it is made. Everything is in it once.
type dictionary struct {
	*profilespb.ProfilesDictionary
	seen      map[string]int32 // where a string, attribute or stack is, by its kind and text
	mappings  map[*profile.Mapping]int32
	functions map[*profile.Function]int32
	locations map[*profile.Location]int32
}

// convert returns a profile as OTLP has it: one for each of its values.
func convert(t taken, resource [][2]string) *profilespb.ProfilesData {
	d := dictionary{
		ProfilesDictionary: &profilespb.ProfilesDictionary{ // what 0 stands for
			MappingTable: []*profilespb.Mapping{{}}, LocationTable: []*profilespb.Location{{}},
			FunctionTable: []*profilespb.Function{{}}, LinkTable: []*profilespb.Link{{}},
			StringTable:    []string{""},
			AttributeTable: []*profilespb.KeyValueAndUnit{{}}, StackTable: []*profilespb.Stack{{}},
		},
		seen:      map[string]int32{"string ": 0, "stack []": 0},
		mappings:  map[*profile.Mapping]int32{nil: 0},
		functions: map[*profile.Function]int32{nil: 0},
		locations: map[*profile.Location]int32{},
	}
	attributes := []int32{d.attribute("mvccmap.profile", textValue(t.kind), "")}
	if len(t.p.Comments) > 0 {
		attributes = append(attributes, d.attribute("pprof.profile.comment", list(t.p.Comments), ""))
	}
	var profiles []*profilespb.Profile
	for i, of := range t.p.SampleType {
		one := &profilespb.Profile{
			SampleType: d.valueType(of), TimeUnixNano: nanos(t.start),
			DurationNano: uint64(max(t.end.Sub(t.start), 0)), PeriodType: d.valueType(t.p.PeriodType),
			Period: t.p.Period, ProfileId: make([]byte, 16), AttributeIndices: attributes,
		}
		_, _ = rand.Read(one.ProfileId) // which never fails
		for _, s := range t.p.Sample {
			if s.Value[i] != 0 {
				one.Samples = append(one.Samples, &profilespb.Sample{StackIndex: d.stack(s.Location),
					AttributeIndices: d.labels(s), Values: []int64{s.Value[i]}})
			}
		}
		profiles = append(profiles, one)
	}
	return &profilespb.ProfilesData{
		Dictionary: d.ProfilesDictionary,
		ResourceProfiles: []*profilespb.ResourceProfiles{{
			Resource: resourceOf(resource),
			ScopeProfiles: []*profilespb.ScopeProfiles{{
				Scope: &commonpb.InstrumentationScope{Name: scope}, Profiles: profiles,
			}},
		}},
	}
}

func list(texts []string) *commonpb.AnyValue {
	values := &commonpb.ArrayValue{}
	for _, s := range texts {
		values.Values = append(values.Values, textValue(s))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: values}}
}

// placed returns where something is in a table, to which make adds it if it is new.
func placed[K comparable, V any](seen map[K]int32, key K, table *[]V, make func() V) int32 {
	if i, ok := seen[key]; ok {
		return i
	}
	v := make() // which may add to other tables
	i := int32(len(*table))
	seen[key], *table = i, append(*table, v)
	return i
}

// text returns where a string is.
func (d *dictionary) text(s string) int32 {
	s = strings.ToValidUTF8(s, "\ufffd")
	return placed(d.seen, "string "+s, &d.StringTable, func() string { return s })
}

func (d *dictionary) valueType(t *profile.ValueType) *profilespb.ValueType {
	if t == nil {
		return nil
	}
	return &profilespb.ValueType{TypeStrindex: d.text(t.Type), UnitStrindex: d.text(t.Unit)}
}

// attribute returns where an attribute is.
func (d *dictionary) attribute(key string, value *commonpb.AnyValue, unit string) int32 {
	a := &profilespb.KeyValueAndUnit{KeyStrindex: d.text(key), Value: value,
		UnitStrindex: d.text(unit)}
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(a) // it is valid
	return placed(d.seen, "attribute "+string(text), &d.AttributeTable,
		func() *profilespb.KeyValueAndUnit { return a })
}

// labels returns the attributes of a sample.
func (d *dictionary) labels(s *profile.Sample) (indices []int32) {
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		value := list(s.Label[key])
		if len(s.Label[key]) == 1 {
			value = textValue(s.Label[key][0])
		}
		indices = append(indices, d.attribute(key, value, ""))
	}
	for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
		if numbers := s.NumLabel[key]; len(numbers) > 0 && s.Label[key] == nil {
			unit := ""
			if units := s.NumUnit[key]; len(units) > 0 {
				unit = units[0]
			}
			indices = append(indices, d.attribute(key, intValue(numbers[0]), unit))
		}
	}
	return indices
}

// stack returns where a stack is.
func (d *dictionary) stack(locations []*profile.Location) int32 {
	var indices []int32
	for _, l := range locations {
		indices = append(indices, d.location(l))
	}
	return placed(d.seen, fmt.Sprint("stack ", indices), &d.StackTable,
		func() *profilespb.Stack { return &profilespb.Stack{LocationIndices: indices} })
}

func (d *dictionary) location(l *profile.Location) int32 {
	return placed(d.locations, l, &d.LocationTable, func() *profilespb.Location {
		to := &profilespb.Location{MappingIndex: d.mapping(l.Mapping), Address: l.Address,
			AttributeIndices: []int32{d.attribute("profile.frame.type", textValue("go"), "")}}
		for _, line := range l.Line {
			to.Lines = append(to.Lines, &profilespb.Line{FunctionIndex: d.function(line.Function),
				Line: line.Line, Column: line.Column})
		}
		return to
	})
}

func (d *dictionary) function(f *profile.Function) int32 {
	return placed(d.functions, f, &d.FunctionTable, func() *profilespb.Function {
		return &profilespb.Function{NameStrindex: d.text(f.Name), SystemNameStrindex: d.text(f.SystemName),
			FilenameStrindex: d.text(f.Filename), StartLine: f.StartLine}
	})
}

func (d *dictionary) mapping(m *profile.Mapping) int32 {
	return placed(d.mappings, m, &d.MappingTable, func() *profilespb.Mapping {
		to := &profilespb.Mapping{MemoryStart: m.Start, MemoryLimit: m.Limit, FileOffset: m.Offset,
			FilenameStrindex: d.text(m.File)}
		if m.BuildID != "" {
			to.AttributeIndices = []int32{
				d.attribute("process.executable.build_id.gnu", textValue(m.BuildID), "")}
		}
		return to
	})
}
