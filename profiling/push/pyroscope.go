package push

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// A sampleType says what Pyroscope is to do with a value of a profile.
type sampleType struct {
	Units       string `json:"units,omitempty"`
	DisplayName string `json:"display-name,omitempty"`
	Aggregation string `json:"aggregation,omitempty"`
	Sampled     bool   `json:"sampled,omitempty"`
}

// sampleTypes are those of the kinds, as the client of Pyroscope for Go names them, so that what is
// known there of Go programs works. Without one Pyroscope has its own for the processor.
var sampleTypes = map[string]map[string]sampleType{
	"heap": {
		"inuse_objects": {Units: "objects", Aggregation: "average"},
		"inuse_space":   {Units: "bytes", Aggregation: "average"},
	},
	"allocs": {
		"alloc_objects": {Units: "objects"},
		"alloc_space":   {Units: "bytes"},
	},
	"goroutine": {
		"goroutine": {DisplayName: "goroutines", Units: "goroutines", Aggregation: "average"},
	},
	"mutex": {
		"contentions": {DisplayName: "mutex_count", Units: "lock_samples"},
		"delay":       {DisplayName: "mutex_duration", Units: "lock_nanoseconds"},
	},
	"block": {
		"contentions": {DisplayName: "block_count", Units: "lock_samples"},
		"delay":       {DisplayName: "block_duration", Units: "lock_nanoseconds"},
	},
	wall: {
		"samples": {Units: "samples", DisplayName: "wall_samples", Sampled: true},
		"wall":    {Units: "nanoseconds"},
	},
}

var notOfLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// ingest makes a request of a profile for Pyroscope.
func (c Config) ingest(t taken) (parcel, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("profile", "profile.pprof")
	if err != nil {
		return parcel{}, err
	}
	if err := t.p.Write(file); err != nil {
		return parcel{}, err
	}
	if types, ok := sampleTypes[t.kind]; ok {
		text, err := json.Marshal(types)
		if err != nil {
			return parcel{}, err
		}
		file, err := form.CreateFormFile("sample_type_config", "sample_type_config.json")
		if err != nil {
			return parcel{}, err
		}
		_, _ = file.Write(text) // to memory
	}
	if err := form.Close(); err != nil {
		return parcel{}, err
	}
	if t.start.Equal(t.end) { // of now: it stands for the time since the one before
		t.start = t.end.Add(-c.ProfilesEvery)
	}
	query := url.Values{
		"name":    {c.application()},
		"from":    {strconv.FormatInt(t.start.UnixNano(), 10)},
		"until":   {strconv.FormatInt(t.end.UnixNano(), 10)},
		"spyName": {"gospy"},
	}
	if t.kind == cpu && t.p.Period > 0 {
		query.Set("sampleRate", strconv.FormatInt(1e9/t.p.Period, 10))
	}
	return parcel{
		what: "profile " + t.kind,
		url:  strings.TrimSuffix(c.Pyroscope.URL, "/") + "/ingest?" + query.Encode(),
		header: map[string]string{
			"Content-Type": form.FormDataContentType(),
		},
		body: body.Bytes(),
	}, nil
}

// application returns the name with the labels.
func (c Config) application() string {
	var labels []string
	for _, a := range c.attributes() {
		if a[0] != "service.name" {
			labels = append(labels, notOfLabels.ReplaceAllString(a[0], "_")+"="+a[1])
		}
	}
	return c.Name + "{" + strings.Join(labels, ",") + "}"
}
