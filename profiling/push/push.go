package push

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A Pusher asks a service and sends what it says. Its methods may be called from several
// goroutines.
type Pusher struct {
	cfg    Config
	source source

	metrics             *target // nil if there is none, like the others
	profiles, pyroscope *target
	points              points
	rounds              rounds
	missed              atomic.Uint64
	complained          atomic.Int64 // when the log was told of it, in nanoseconds

	closing chan struct{}      // closed by Close
	end     context.CancelFunc // of everything
	ended   chan struct{}
	once    sync.Once
	mu      sync.Mutex
	failed  []error // of what Close has sent, or could not
}

// Stats count what a [Pusher] did.
type Stats struct {
	Metrics, Profiles, Pyroscope TargetStats
	// Missed are pages of figures and profiles that the service did not give.
	Missed uint64
}

// Start starts to push. Close the result before the service. The error says what is wrong with cfg;
// receivers and the service need not be there yet.
func Start(cfg Config) (*Pusher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pusher{cfg: cfg, closing: make(chan struct{}), ended: make(chan struct{})}
	p.source = source{base: cfg.From, token: cfg.Token, client: cfg.Client, most: cfg.most,
		limit: maxAnswer}
	from, err := address(cfg.From)
	if err != nil {
		return nil, err
	}
	from.User = nil // its pages are told to others
	p.points = points{resource: cfg.attributes(), base: from.String(), delta: cfg.Delta, began: time.Now()}
	p.rounds = rounds{before: map[string]taken{}}
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	asking, stop := context.WithCancel(ctx) // ends captures
	var pulls, all sync.WaitGroup
	if cfg.Metrics.URL != "" {
		p.metrics = newTarget("metrics", cfg.Metrics, cfg)
		pulls.Go(func() { p.pushMetrics(ctx) })
	}
	if cfg.Profiles.URL != "" {
		p.profiles = newTarget("profiles", cfg.Profiles, cfg)
	}
	if cfg.Pyroscope.URL != "" {
		p.pyroscope = newTarget("pyroscope", cfg.Pyroscope, cfg)
	}
	for _, t := range []*target{p.profiles, p.pyroscope} {
		if t != nil {
			all.Go(func() { p.note(t.run(ctx)) })
		}
	}
	if p.profiles != nil || p.pyroscope != nil {
		pulls.Go(func() { p.pushProfiles(ctx, asking) })
	}
	go func() {
		<-p.closing
		stop()
		pulls.Wait()
		for _, t := range []*target{p.profiles, p.pyroscope} {
			if t != nil {
				t.close()
			}
		}
		all.Wait()
		close(p.ended)
	}()
	return p, nil
}

// note keeps an error for Close.
func (p *Pusher) note(err error) {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failed = append(p.failed, err)
	}
}

// Stats returns what was done so far.
func (p *Pusher) Stats() Stats {
	s := Stats{Missed: p.missed.Load()}
	for _, of := range []struct {
		t  *target
		to *TargetStats
	}{{p.metrics, &s.Metrics}, {p.profiles, &s.Profiles}, {p.pyroscope, &s.Pyroscope}} {
		if of.t != nil {
			*of.to = of.t.now()
		}
	}
	return s
}

// Close ends it: the figures of now and the profiles that need no window are sent, and those that
// wait, each once; a profile that is being taken is given up and counts as missed. It waits until
// that is done or ctx ends, which ends all requests. The error says what was not sent. Further
// calls return the same.
func (p *Pusher) Close(ctx context.Context) error {
	p.once.Do(func() { close(p.closing) })
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.end()
		<-p.ended
	}
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.failed...)
}

// miss counts that the service did not give something, and logs it once a minute, unless it was
// Close that ended it.
func (p *Pusher) miss(what string, err error) {
	n, now := p.missed.Add(1), time.Now().UnixNano()
	if errors.Is(err, context.Canceled) {
		return
	}
	if last := p.complained.Load(); last == 0 || now-last >= int64(time.Minute) {
		p.complained.Store(now)
		p.cfg.Log.Warn("push: missed", "what", what, "error", err, "since the start", n)
	}
}
