// Package push sends what a service of package profiling shows to where it is kept: the figures of
// /metrics to an OTLP endpoint, and profiles to an OTLP endpoint or to Pyroscope. It asks the
// service over HTTP, as Prometheus and a browser do, so the program may be this one or another,
// such as mvccbench:
//
//	srv, err := profiling.Start(profiling.Config{})
//	...
//	p, err := push.Start(push.Config{
//		From: srv.URL(), Name: "shop",
//		Metrics:   push.Target{URL: "http://127.0.0.1:4318/v1/metrics"},
//		Profiles:  push.Target{URL: "http://127.0.0.1:4318/v1development/profiles"},
//		Pyroscope: push.Target{URL: "http://127.0.0.1:4040"},
//	})
//	...
//	err = p.Close(ctx) // before srv.Close
//
// The command mvccpush in cmd/mvccpush does that for another program. It is a module of its own, so
// that a program that does not push need not download Protocol Buffers.
//
// # Figures
//
// They have the names that Prometheus knows, so the dashboard for Grafana beside package prom works
// where they end up. Counters and histograms are cumulative, or with [Config.Delta] what came since
// the last time that they were received: what a receiver misses is in the next. One that falls has
// begun anew. A point of operation_duration_seconds has an exemplar for each slow operation of
// which the service has kept a trace since: with its number as "slow", and its page as "url.full".
//
// # Profiles
//
// Those of allocations, mutexes and blocking cover the time since the one before, without a gap; if
// nothing was sampled none is sent. Those of the processor and the wall clock cover [Config.Window]
// of each [Config.ProfilesEvery], as others may want the one profiler that a process has; one that
// is refused for that reason is left out. Live memory and goroutines are as they are at the end of
// it.
//
// OTLP profiles are a signal in development. What is sent is opentelemetry-proto 1.10, as the
// module go.opentelemetry.io/proto/otlp/profiles/v1development has it in v0.3.0: a receiver of
// another version may refuse it, or understand it wrongly. A pprof profile with several values
// becomes as many profiles, with the attribute "mvccmap.profile" for its kind: mutex and block have
// the same values. Pyroscope gets what its client for Go would send, to /ingest, and wall-clock
// profiles beside.
//
// # What it costs
//
// The service makes the page of figures and a profile of each kind, which takes it some
// milliseconds, beside what the profiles cost: see package profiling. With the defaults the
// processor is profiled for a sixth of the time, and all goroutines are sampled for another sixth.
// The profiles are read and written again here: a tenth of a second of a processor in a minute, as
// mvccpush took for "mvccbench serve" and three targets. If this is the same program, it shows in
// its profiles.
//
// # What can go wrong
//
// Nothing waits for a receiver but goroutines of a [Pusher]. What cannot be sent is tried again,
// later each time up to a minute, or when the receiver says. Profiles wait in a queue of 32 MB for
// each target, where the oldest make room. The log says when a target begins to fail, what was
// dropped, once a minute, and when it works again; [Pusher.Stats] counts it.
package push
