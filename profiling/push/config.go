package push

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Values that zero fields of a [Config] stand for.
const (
	defaultMetricsEvery  = 15 * time.Second
	defaultProfilesEvery = time.Minute
	defaultWindow        = 10 * time.Second
)

// Config says what to push, where to and how often. Zero fields mean defaults.
type Config struct {
	// From is the address of the service: [Server.URL] of package profiling, or that below which a
	// handler of it is mounted, such as http://127.0.0.1:8080/profiling. It is required.
	From string
	// Token is that of the service, if it has one.
	Token string

	// Name is what the program is called there: the service.name of OTLP, the application of
	// Pyroscope. It is required.
	Name string
	// Labels are further attributes of the resource, and labels of Pyroscope, where what is no
	// letter or digit of a name becomes "_". Beside them there is "service.instance.id": the host
	// and port of From, with the name of this machine for localhost.
	Labels map[string]string

	// Metrics and Profiles are endpoints of OTLP over HTTP with Protocol Buffers, with their paths.
	// Pyroscope is a server, without /ingest. Those without a URL get nothing; one must have one.
	Metrics, Profiles, Pyroscope Target

	// MetricsEvery is the time from one push of figures to the next. The default is 15 s.
	MetricsEvery time.Duration
	// Delta says that counters and histograms are what came since the last push.
	Delta bool

	// ProfilesEvery is the time from one push of profiles to the next. The default is a minute.
	ProfilesEvery time.Duration
	// Window is how long a profile of the processor, and one of the wall clock, takes. The default
	// is 10 s. Both must fit into ProfilesEvery.
	Window time.Duration
	// Kinds are the profiles to push, by their names at /debug/pprof/, and cpu. The default is cpu,
	// wall, heap, allocs, mutex, block and goroutine.
	Kinds []string

	// Log is told what goes wrong. The default is [slog.Default].
	Log *slog.Logger
	// Client sends. The default is [http.DefaultClient]. A request takes 10 s at most, and an answer
	// that sends it elsewhere is a failure: headers and data do not go to an address that is not here.
	Client *http.Client

	least time.Duration // before something is tried again
	most  time.Duration // of a request
	queue int           // bytes, of a target

	_ struct{}
}

// A Target is where something is pushed to.
type Target struct {
	URL string
	// Headers go with each request, such as Authorization, or X-Scope-OrgID of Pyroscope.
	Headers map[string]string
}

// withDefaults returns c with its zero fields filled in, and what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	c.MetricsEvery = cmp.Or(c.MetricsEvery, defaultMetricsEvery)
	c.ProfilesEvery = cmp.Or(c.ProfilesEvery, defaultProfilesEvery)
	c.Window = cmp.Or(c.Window, defaultWindow)
	if c.Kinds == nil {
		c.Kinds = []string{cpu, wall, "heap", "allocs", "mutex", "block", "goroutine"}
	}
	c.Log, c.Client = cmp.Or(c.Log, slog.Default()), cmp.Or(c.Client, http.DefaultClient)
	c.least, c.most = cmp.Or(c.least, time.Second), cmp.Or(c.most, 10*time.Second)
	c.queue = cmp.Or(c.queue, 32<<20)
	client := *c.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Client = &client
	from, err := address(c.From)
	if err != nil {
		return c, fmt.Errorf("push: From: %w", err)
	}
	if from.RawQuery != "" || from.Fragment != "" {
		return c, errors.New("push: From: expected an address without what follows ? or #")
	}
	c.From = strings.TrimSuffix(from.String(), "/")
	if c.Metrics.URL == "" && c.Profiles.URL == "" && c.Pyroscope.URL == "" {
		return c, errors.New("push: expected the URL of Metrics, Profiles or Pyroscope")
	}
	for name, t := range map[string]Target{
		"Metrics": c.Metrics, "Profiles": c.Profiles, "Pyroscope": c.Pyroscope,
	} {
		if t.URL == "" {
			continue
		}
		u, err := address(t.URL)
		if err != nil {
			return c, fmt.Errorf("push: the URL of %s: %w", name, err)
		}
		if name == "Pyroscope" && u.RawQuery+u.Fragment != "" {
			return c, errors.New("push: the URL of Pyroscope: expected none with what follows ? or #")
		}
		for header, value := range t.Headers {
			if header == "" || strings.ContainsAny(header, " :\r\n") || strings.ContainsAny(value, "\r\n\x00") {
				return c, fmt.Errorf("push: Headers of %s: expected names and values of one line, not those of %q",
					name, header)
			}
		}
	}
	timed := time.Duration(0)
	for _, kind := range c.Kinds {
		if isTimed(kind) {
			timed += c.Window
		}
	}
	switch {
	case c.Name == "":
		return c, errors.New("push: Name: expected what the program is called, not \"\"")
	case c.MetricsEvery < 0 || c.ProfilesEvery < 0 || c.Window < 0:
		return c, errors.New("push: expected times above 0")
	case timed > c.ProfilesEvery:
		return c, fmt.Errorf("push: profiles that take %v do not fit into ProfilesEvery, %v", timed,
			c.ProfilesEvery)
	}
	if c.Pyroscope.URL != "" {
		return c, c.checkLabels()
	}
	return c, nil
}

// checkLabels returns an error for what the name of an application of Pyroscope cannot hold.
func (c Config) checkLabels() error {
	for name, value := range c.Labels {
		if name == "" || value == "" || strings.ContainsAny(value, "{},=\"") {
			return fmt.Errorf("push: Labels: expected values without any of {},=\" for Pyroscope, "+
				"not %q of %q", value, name)
		}
	}
	if strings.ContainsAny(c.Name, "{},=\"") {
		return fmt.Errorf("push: Name: expected none of {},=\" for Pyroscope, not %q", c.Name)
	}
	return nil
}

// address returns the URL of something that is reached by HTTP.
func address(text string) (*url.URL, error) {
	const want = "expected an address such as http://127.0.0.1:4318"
	u, err := url.Parse(text)
	if bad, is := errors.AsType[*url.Error](err); is { // which has all of it, a password too
		return nil, fmt.Errorf(want+": %w", bad.Err)
	}
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = fmt.Errorf(want+", not %q", shown(u))
	}
	return u, err
}

// shown returns an address without what may be secret in it: a password, or a key in its query.
func shown(u *url.URL) string {
	short := *u
	if short.User = nil; short.RawQuery != "" {
		short.RawQuery = "..."
	}
	return short.String()
}

// told returns an error of a request without what may be secret in its address.
func told(err error) error {
	if of, is := errors.AsType[*url.Error](err); is {
		if u, err := url.Parse(of.URL); err == nil {
			of.URL = shown(u)
		}
	}
	return err
}

// elsewhere says where an answer wants a request to go; "" if it does not.
func elsewhere(res *http.Response) string {
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 {
		return "it is elsewhere, which is not followed: " + shown(to)
	}
	return ""
}

// instance tells this program from others of its name.
func (c Config) instance() string {
	u, _ := address(c.From)
	host, port := u.Hostname(), u.Port()
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if name, err := os.Hostname(); err == nil && local {
		host = name
	}
	if port == "" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// attributes are those of the resource, by name.
func (c Config) attributes() [][2]string {
	list := [][2]string{{"service.instance.id", c.instance()}, {"service.name", c.Name}}
	for name, value := range c.Labels {
		list = append(list, [2]string{name, value})
	}
	slices.SortFunc(list, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	return list
}
