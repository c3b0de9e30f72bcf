package cli

import (
	"fmt"

	"github.com/mvccmap/mvccmap/profiling"
)

// defaultHTTP is where profiles are served unless --http says otherwise.
const defaultHTTP = "127.0.0.1:6060"

// profiler serves profiles of the program while it runs. A nil profiler serves
// none.
type profiler struct {
	server *profiling.Server
}

// startProfiler starts serving on addr.
func startProfiler(addr string) (*profiler, error) {
	s, err := profiling.Start(profiling.Config{Addr: addr, Title: programName})
	if err != nil {
		return nil, err
	}
	return &profiler{server: s}, nil
}

// describe says where profiles are served, for the head of the output.
func (p *profiler) describe() string {
	if p == nil {
		return "not served"
	}
	return fmt.Sprintf("served at %s, with the runtime's default rates of package profiling", p.url())
}

func (p *profiler) url() string { return p.server.URL() }

// phase says what is running from now on.
func (p *profiler) phase(label string) {
	if p != nil {
		p.server.SetPhase(label)
	}
}

func (p *profiler) close() {
	if p != nil {
		p.server.Close() // nothing depends on it any more
	}
}
