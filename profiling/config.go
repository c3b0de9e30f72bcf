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
// use. It is read once; changing it later has no effect. The functions in it that return data to be
// shown, its sources, are called by goroutines of the service: a source that panics ends the
// program.
type Config struct {
	// Addr is the TCP address on which [Start] listens. Empty means 127.0.0.1:6060 or, if another
	// program listens there, a free port; [Server.URL] says which. Port 0 means a free port. A host
	// other than localhost or a loopback IP address needs a Token. Handler ignores Addr.
	Addr string

	// Token, if not empty, must come with every request: as the value of an "Authorization: Bearer"
	// header, as the password of basic authentication (any user name), or once as the query
	// parameter "token", which a browser exchanges for a cookie. Use a random text, such as
	// [crypto/rand.Text] returns: if it has fewer than 16 characters, Start returns an error, and
	// Handler refuses all requests and says why. Without a Token only requests from this machine
	// are answered.
	Token string

	// Hosts lists further host names, without port, that the Host header of
	// a request may carry. Always accepted are localhost and loopback
	// addresses; with a Token also the host of Addr and every IP address.
	Hosts []string

	// Title heads the index page. If empty, it is the program's name.
	Title string

	// Maps has functions that return the statistics of the maps on the dashboard, by name:
	// [mvcc.Map.Stats] of a map, or a function that returns those of the map in use at present, and
	// zero Stats if there is none. Each function is called once a second. If there is a map shop,
	// the name shop/orders is that of its table orders, which has few charts: [mvcc.DB.Sources]
	// gives such names.
	Maps map[string]func() mvcc.Stats

	// Values has functions that return further figures, by name: those of a replica of module etcd,
	// say. The dashboard draws them, and /metrics has them with the label "of". Each is called once at
	// the start, then once a second and for each request for /metrics, and returns the same figures
	// each time, in the same order.
	Values map[string]func() []prom.Value

	// Data has the databases, by name, whose tables, indexes, watches and oldest readers the page
	// /debug/pprof/data/ shows. They are kept reachable, and need not be in Maps.
	Data map[string]*mvcc.DB

	// ShowKeys makes the page /debug/pprof/conflicts/ show keys of records, as %v prints them.
	// Otherwise the page names keys by a hash.
	ShowKeys bool

	// Workload, if not nil, reports the work of the program and its speed. It is called once a
	// second, never by two goroutines at a time, and should return within milliseconds.
	Workload func() Workload

	// Capturing, if not nil, is called with true before a CPU profile of this
	// service begins and with false when it has ended, never by two goroutines
	// at a time, and must not block: a program can have its goroutines set
	// profiler labels for each operation meanwhile, and not pay for them otherwise.
	Capturing func(bool)

	// Runs, if not nil, answers requests below /debug/pprof/runs/, and all pages link to it. With
	// it mvccbench lists and compares its saved runs.
	Runs http.Handler

	// Metrics answers requests for /metrics. Nil means [prom.Handler] of Maps, of the operations
	// that an [Op] counts, and of Values. Metrics is behind the same guard as the pages: Prometheus
	// sends the Token as "authorization" of the scrape configuration.
	Metrics http.Handler

	// Slow, if not nil, records slow operations from the start; see [SlowConfig] for the costs. It
	// also applies if a visitor of the page /debug/pprof/slow/ turns the recording on; the visitor
	// may choose another threshold.
	Slow *SlowConfig

	// MutexFraction is passed to [runtime.SetMutexProfileFraction] by
	// [Start]: on average one of that many contended unlocks is recorded.
	// The default is 100. A negative value leaves the program's setting
	// alone. Handler never changes it.
	MutexFraction int

	// BlockRate is passed to [runtime.SetBlockProfileRate] by [Start]: on
	// average one blocking event per BlockRate spent blocked is recorded.
	// The default is 10 µs, which costs a program that does nothing but park
	// and wake goroutines about a quarter of its speed, and others nothing
	// that shows. A negative value leaves the program's setting alone.
	// Handler never changes it.
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
