package profiling

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/prom"
)

// Values that zero fields of a [Config] stand for.
const (
	defaultAddr          = "127.0.0.1:6060"
	defaultMutexFraction = 100
	defaultBlockRate     = 10 * time.Microsecond
)

// Config adjusts [Start] and [Handler]. Zero fields mean defaults, so the zero Config is ready for
// use. Both read it once: a later change has no effect. Its sources, the functions that return data
// to show, are called by goroutines of the service: a source that panics ends the program.
type Config struct {
	// Addr is the TCP address on which [Start] listens. Empty means 127.0.0.1:6060 or, if another
	// program listens there, a free port; [Server.URL] says which. Port 0 means a free port. A host
	// other than localhost or a loopback IP address needs a Token. Handler ignores Addr.
	Addr string

	// Token, if not empty, must come with every request: as the value of an "Authorization: Bearer"
	// header, as the password of basic authentication (any user name), or once as the query
	// parameter "token", which a browser exchanges for a cookie. Use a random text, such as
	// [crypto/rand.Text] returns. If a Token has fewer than 16 characters, Start returns an error,
	// and Handler refuses all requests with the reason. Without a Token only requests from this
	// machine are answered.
	Token string

	// Hosts lists further host names, without port, that the Host header of a request may carry.
	// Localhost and loopback addresses are always accepted; with a Token, so are the host of Addr
	// and every IP address.
	Hosts []string

	// Title heads the index page. If empty, it is the program's name.
	Title string

	// Maps has functions that return the statistics of the maps on the dashboard, by name. For a
	// map this is its [mvcc.Map.Stats], or a function that returns the Stats of the map in use at
	// present, and zero Stats while there is none. Each is called once a second. If there is a name
	// shop, shop/orders is its table orders, which has few charts: [mvcc.DB.Sources] returns such
	// names.
	Maps map[string]func() mvcc.Stats

	// Values has functions that return further figures, by name, such as those of a replica of
	// module etcd. The dashboard draws the figures, and /metrics has them with the label "of". Each
	// function is called once at the start, then once a second and for each request for /metrics.
	// It must always return the same figures in the same order.
	Values map[string]func() []prom.Value

	// Data has the databases, by name, whose tables, indexes, watches and oldest readers the page
	// /debug/pprof/data/ shows. It keeps them reachable. They need not be in Maps.
	Data map[string]*mvcc.DB

	// ShowKeys makes the page /debug/pprof/conflicts/ show keys of records, as %v prints them.
	// Otherwise the page names keys by a hash.
	ShowKeys bool

	// Workload, if not nil, reports the work of the program and its speed. It is called once a
	// second, never by two goroutines at a time, and should return within milliseconds.
	Workload func() Workload

	// Capturing, if not nil, is called with true before a CPU profile of this service begins and
	// with false when it has ended, never by two goroutines at a time, and must not block. With it
	// a program can set profiler labels for each operation during such a profile only, so that it
	// pays for them at no other time.
	Capturing func(bool)

	// Runs, if not nil, answers requests below /debug/pprof/runs/, and all pages link to it. With
	// it mvccbench lists and compares its saved runs.
	Runs http.Handler

	// Metrics answers requests for /metrics. Nil means [prom.Handler] of Maps, of the operations
	// that an [Op] counts, and of Values. Metrics is behind the same guard as the pages: Prometheus
	// sends the Token as "authorization" of the scrape configuration.
	Metrics http.Handler

	// Slow, if not nil, has slow operations recorded from the start; [SlowConfig] says the costs.
	// It is also the configuration if a visitor of the page /debug/pprof/slow/ turns the recording
	// on, who may choose another threshold.
	Slow *SlowConfig

	// MutexFraction is passed to [runtime.SetMutexProfileFraction] by [Start]: on average one of
	// MutexFraction contended unlocks is recorded. The default is 100. A negative value leaves the
	// program's setting alone. Handler never changes it.
	MutexFraction int

	// BlockRate is passed to [runtime.SetBlockProfileRate] by [Start]: on average one blocking
	// event per BlockRate spent blocked is recorded. The default is 10 µs: it slows a program that
	// only parks and wakes goroutines by about a quarter, and other programs not measurably. A
	// negative value leaves the program's setting alone. Handler never changes it.
	BlockRate time.Duration

	_ struct{}
}

// withDefaults returns c with its zero fields filled in.
func (c Config) withDefaults() Config {
	c.Addr = cmp.Or(c.Addr, defaultAddr)
	c.Title = cmp.Or(c.Title, filepath.Base(os.Args[0]))
	c.MutexFraction = cmp.Or(c.MutexFraction, defaultMutexFraction)
	c.BlockRate = cmp.Or(c.BlockRate, defaultBlockRate)
	return c
}
