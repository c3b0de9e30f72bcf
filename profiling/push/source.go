package push

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The kinds of profiles that take a window.
const (
	cpu  = "cpu"
	wall = "wall"
)

func isTimed(kind string) bool { return kind == cpu || kind == wall }

// A source is the service that is asked.
type source struct {
	base, token string
	client      *http.Client
	most        time.Duration // that an answer takes, beside a window
	limit       int64         // of an answer, in bytes
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// get returns the answer of a page, which takes that long by itself.
func (s *source) get(ctx context.Context, page string, takes time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, takes+s.most)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+page, nil)
	if err != nil {
		return nil, err
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return nil, told(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, s.limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", page, err)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s: %s", page, res.Status, cmp.Or(elsewhere(res), firstLine(body)))
	case int64(len(body)) > s.limit:
		return nil, fmt.Errorf("%s: it is longer than %d bytes", page, s.limit)
	}
	return body, nil
}

// firstLine returns the beginning of a text for a message.
func firstLine(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return fmt.Sprintf("%.200s", strings.ToValidUTF8(line, "?"))
}

// families returns the figures.
func (s *source) families(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	body, err := s.get(ctx, "/metrics", 0)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(string(body)))
}

// A slow is an operation of which the service has kept a trace.
type slow struct {
	ID     int             `json:"id"`
	Op     string          `json:"op"`
	Took   time.Duration   `json:"took_ns"`
	End    time.Time       `json:"end"`
	Report json.RawMessage `json:"report"`
}

// page is where the service shows it.
func (s slow) page(base string) string {
	if len(s.Report) == 0 { // the trace could not be read
		return fmt.Sprintf("%s/debug/pprof/slow/%d.json", base, s.ID)
	}
	return fmt.Sprintf("%s/debug/pprof/slow/%d/flamegraph", base, s.ID)
}

// kept returns the slow operations that are kept.
func (s *source) kept(ctx context.Context) ([]slow, error) {
	body, err := s.get(ctx, "/debug/pprof/slow/?format=json", 0)
	if err != nil {
		return nil, err
	}
	var page struct {
		Kept []slow `json:"kept"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("the page of slow operations: %w", err)
	}
	return page.Kept, nil
}

// profile returns a profile: of that window, if it is one that takes one.
func (s *source) profile(
	ctx context.Context, kind string, window time.Duration,
) (*profile.Profile, error) {
	page, takes := "/debug/pprof/"+kind, time.Duration(0)
	if isTimed(kind) {
		if kind == cpu {
			page = "/debug/pprof/profile"
		}
		page += "?seconds=" + strconv.FormatFloat(window.Seconds(), 'f', -1, 64)
		takes = window
	}
	body, err := s.get(ctx, page, takes)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", page, err)
	}
	return p, nil
}
