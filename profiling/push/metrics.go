package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// scope is the name of what has measured.
const scope = "github.com/mvccmap/mvccmap/profiling/push"

// pushMetrics pushes figures until the pusher is closed, and once more then.
func (p *Pusher) pushMetrics(ctx context.Context) {
	tick := time.NewTicker(p.cfg.MetricsEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if p.metrics.ready() {
				p.pushPoints(ctx) // a failure has been noted, and what is missed is in the next
			}
		case <-p.closing:
			p.metrics.close()
			p.note(p.pushPoints(ctx))
			return
		}
	}
}

// pushPoints pushes the figures of now.
func (p *Pusher) pushPoints(ctx context.Context) error {
	families, err := p.source.families(ctx)
	if err != nil {
		p.miss("figures", err)
		return err
	}
	kept, err := p.source.kept(ctx)
	if err != nil {
		p.miss("slow operations", err)
	}
	body, next, err := p.points.encode(families, kept, time.Now())
	if err != nil {
		return err
	}
	done, err := p.metrics.send(ctx, parcel{
		what: "figures", url: p.cfg.Metrics.URL, header: protobuf, body: body,
	})
	if done {
		p.points.seen = next
	}
	return err
}

// protobuf are the headers of a request of OTLP.
var protobuf = map[string]string{
	"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip",
}

// packed returns a message as a request has it.
func packed(m proto.Message) ([]byte, error) {
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // to memory
	_ = z.Close()
	return out.Bytes(), nil
}

// points makes points of figures.
type points struct {
	resource [][2]string
	base     string // of the service
	delta    bool
	began    time.Time
	seen     seen // as the receiver has it
}

// seen is what there was at some time.
type seen struct {
	at      time.Time // zero: never
	started time.Time // the program
	slow    int       // the last slow operation
	series  map[string]series
}

// A series is what one counter or histogram was.
type series struct {
	began  time.Time // of the count
	value  float64   // of a counter, or the sum of a histogram
	count  uint64
	counts []uint64 // of the buckets
}

// An encoding makes one request.
type encoding struct {
	*points
	started time.Time // the program, zero if not known
	now     time.Time
	kept    []slow
	next    seen
}

// encode makes a request of figures. next is what the receiver has seen if it takes it.
func (p *points) encode(
	families map[string]*dto.MetricFamily, kept []slow, now time.Time,
) (body []byte, next seen, err error) {
	e := encoding{points: p, now: now, kept: kept, next: seen{at: now, series: map[string]series{}}}
	if f := families["process_start_time_seconds"]; f != nil && len(f.GetMetric()) == 1 {
		e.started = time.UnixMilli(int64(f.GetMetric()[0].GetGauge().GetValue() * 1e3))
	}
	e.next.started = e.started
	for _, s := range kept {
		e.next.slow = max(e.next.slow, s.ID)
	}
	var list []*metricspb.Metric
	for _, name := range slices.Sorted(maps.Keys(families)) {
		list = append(list, e.metric(families[name]))
	}
	body, err = packed(&metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource: resourceOf(p.resource),
		ScopeMetrics: []*metricspb.ScopeMetrics{{
			Scope: &commonpb.InstrumentationScope{Name: scope}, Metrics: list,
		}},
	}}})
	return body, e.next, err
}

func resourceOf(attributes [][2]string) *resourcepb.Resource {
	r := &resourcepb.Resource{}
	for _, a := range attributes {
		r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: a[0], Value: textValue(a[1])})
	}
	return r
}

func textValue(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{
		StringValue: strings.ToValidUTF8(s, "\ufffd")}}
}

func intValue(n int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
}

// unitOf returns the unit that the name of a figure says.
func unitOf(name string) string {
	switch name = strings.TrimSuffix(name, "_total"); {
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "By"
	}
	return ""
}

func (e *encoding) metric(f *dto.MetricFamily) *metricspb.Metric {
	m := &metricspb.Metric{Name: f.GetName(), Description: f.GetHelp(), Unit: unitOf(f.GetName())}
	temporality := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	if e.delta {
		temporality = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		sum := &metricspb.Sum{AggregationTemporality: temporality, IsMonotonic: true}
		for _, one := range f.GetMetric() {
			sum.DataPoints = append(sum.DataPoints, e.counter(f.GetName(), one))
		}
		m.Data = &metricspb.Metric_Sum{Sum: sum}
	case dto.MetricType_HISTOGRAM:
		h := &metricspb.Histogram{AggregationTemporality: temporality}
		for _, one := range f.GetMetric() {
			h.DataPoints = append(h.DataPoints, e.histogram(f.GetName(), one))
		}
		m.Data = &metricspb.Metric_Histogram{Histogram: h}
	case dto.MetricType_SUMMARY:
		s := &metricspb.Summary{}
		for _, one := range f.GetMetric() {
			s.DataPoints = append(s.DataPoints, e.summary(one))
		}
		m.Data = &metricspb.Metric_Summary{Summary: s}
	default:
		g := &metricspb.Gauge{}
		for _, one := range f.GetMetric() {
			v := one.GetGauge().GetValue() + one.GetUntyped().GetValue() // it has one of them
			g.DataPoints = append(g.DataPoints, e.number(one, v))
		}
		m.Data = &metricspb.Metric_Gauge{Gauge: g}
	}
	return m
}

func attributesOf(m *dto.Metric) (list []*commonpb.KeyValue) {
	for _, l := range m.GetLabel() {
		list = append(list, &commonpb.KeyValue{Key: l.GetName(), Value: textValue(l.GetValue())})
	}
	return list
}

func (e *encoding) number(m *dto.Metric, v float64) *metricspb.NumberDataPoint {
	return &metricspb.NumberDataPoint{Attributes: attributesOf(m), TimeUnixNano: nanos(e.now),
		Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: v}}
}

// nanos is a time as OTLP has it, 0 if it is not known.
func nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

// since returns what there was of a series that is now so, nothing if it has begun anew, and notes
// what there is. start is the beginning of what is to be sent.
func (e *encoding) since(name string, m *dto.Metric, now series) (before series, start time.Time) {
	key := name
	for _, l := range m.GetLabel() {
		key += "\xff" + l.GetName() + "\xff" + l.GetValue()
	}
	before, was := e.seen.series[key]
	switch {
	case was && (now.count < before.count || now.counts == nil && now.value < before.value):
		// It has begun anew.
		before, now.began = series{}, e.seen.at
	case was:
		now.began = before.began
	case !e.seen.at.IsZero(): // it is new
		now.began = e.seen.at
	default:
		now.began = e.started
	}
	e.next.series[key] = now
	switch {
	case !e.delta:
		return series{}, now.began
	case was:
		return before, e.seen.at
	case now.began.IsZero():
		return before, e.began
	}
	return before, now.began
}

func (e *encoding) counter(name string, m *dto.Metric) *metricspb.NumberDataPoint {
	v := m.GetCounter().GetValue()
	before, start := e.since(name, m, series{value: v})
	d := e.number(m, v-before.value)
	d.StartTimeUnixNano = nanos(start)
	return d
}

func (e *encoding) histogram(name string, m *dto.Metric) *metricspb.HistogramDataPoint {
	h := m.GetHistogram()
	now := series{value: h.GetSampleSum(), count: h.GetSampleCount()}
	d := &metricspb.HistogramDataPoint{Attributes: attributesOf(m), TimeUnixNano: nanos(e.now)}
	upTo := uint64(0)
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			continue
		}
		d.ExplicitBounds = append(d.ExplicitBounds, b.GetUpperBound())
		now.counts = append(now.counts, b.GetCumulativeCount()-upTo)
		upTo = b.GetCumulativeCount()
	}
	now.counts = append(now.counts, now.count-upTo)
	before, start := e.since(name, m, now)
	d.StartTimeUnixNano = nanos(start)
	d.Count, d.Sum = now.count-before.count, proto.Float64(now.value-before.value)
	d.BucketCounts = slices.Clone(now.counts)
	if len(before.counts) == len(now.counts) {
		for i, n := range before.counts {
			d.BucketCounts[i] -= min(n, d.BucketCounts[i])
		}
	}
	d.Exemplars = e.exemplars(name, m)
	return d
}

// exemplars returns the slow operations of a histogram that the receiver does not know.
func (e *encoding) exemplars(name string, m *dto.Metric) (list []*metricspb.Exemplar) {
	if name != "operation_duration_seconds" {
		return nil
	}
	last := e.seen.slow
	if !e.started.Equal(e.seen.started) { // numbers begin anew with the program
		last = 0
	}
	for _, l := range m.GetLabel() {
		for _, s := range e.kept {
			if l.GetName() != "operation" || l.GetValue() != s.Op || s.ID <= last {
				continue
			}
			list = append(list, &metricspb.Exemplar{TimeUnixNano: nanos(s.End),
				Value: &metricspb.Exemplar_AsDouble{AsDouble: s.Took.Seconds()},
				FilteredAttributes: []*commonpb.KeyValue{
					{Key: "slow", Value: intValue(int64(s.ID))},
					{Key: "url.full", Value: textValue(s.page(e.base))},
				}})
		}
	}
	return list
}

func (e *encoding) summary(m *dto.Metric) *metricspb.SummaryDataPoint {
	s := m.GetSummary()
	d := &metricspb.SummaryDataPoint{Attributes: attributesOf(m), TimeUnixNano: nanos(e.now),
		StartTimeUnixNano: nanos(e.started), Count: s.GetSampleCount(), Sum: s.GetSampleSum()}
	for _, q := range s.GetQuantile() {
		d.QuantileValues = append(d.QuantileValues, &metricspb.SummaryDataPoint_ValueAtQuantile{
			Quantile: q.GetQuantile(), Value: q.GetValue()})
	}
	return d
}
