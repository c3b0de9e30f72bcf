// Package profiling shows the work of the running program over HTTP: live charts of its maps and of
// the Go runtime, profiles that open as flame graphs, and where its goroutines wait. "go tool
// pprof" can read the profiles as well.
//
// # Starting
//
// [Start] listens on this machine's loopback address:
//
//	srv, err := profiling.Start(profiling.Config{})
//	if err != nil {
//		return err
//	}
//	defer srv.Close()
//	fmt.Fprintln(os.Stderr, "profiles:", srv.URL())
//
// [Handler] is the same service without a listener, for a program that has an HTTP server already.
// Both use a ServeMux of their own; importing this package registers nothing on
// [http.DefaultServeMux].
//
// # Pages
//
//	/, /debug/pprof/live                dashboard: the present work, live charts
//	/debug/pprof/live.json              the points of the charts, ?after=N for
//	                                    those after row N
//	/debug/pprof/                       profiles: links, captures
//	/debug/pprof/profile?seconds=30     CPU profile
//	/debug/pprof/wall?seconds=5         states of all goroutines, on a processor and off it
//	/debug/pprof/heap, allocs, mutex, block, goroutine, threadcreate, ...
//	                                    ?seconds=5 for the change during 5 s,
//	                                    ?debug=1 or 2 for text, heap?gc=1
//	/debug/pprof/trace?seconds=1        execution trace for "go tool trace"
//	/debug/pprof/ui/new?type=cpu&seconds=5
//	                                    capture, then redirect to its page
//	/debug/pprof/ui/<id>/flamegraph, top, peek, source, download
//	                                    pages of a capture
//	/debug/pprof/ui/<id>-<base>/flamegraph, top, peek, source
//	                                    difference of two captures, per operation if
//	                                    their numbers are known
//	/debug/pprof/contention/            reports on contention
//	/debug/pprof/contention/new?mode=profiles&seconds=5, or since=start
//	                                    report by the block and mutex profiles
//	/debug/pprof/contention/new?mode=trace&seconds=1
//	                                    report by an execution trace; format=json
//	                                    answers with it
//	/debug/pprof/contention/<id>        a report
//	/debug/pprof/conflicts/             who loses attempts over which keys, and to whom;
//	                                    ?format=json
//	/debug/pprof/conflicts/flamegraph, top, peek, source
//	                                    the time thrown away
//	/debug/pprof/slow/                  why operations were slow; ?format=json,
//	                                    ?op=NAME for the operations of one name
//	/debug/pprof/slow/start?percentile=99.9 or above=5ms, slow/stop
//	                                    record slow operations, or stop
//	/debug/pprof/slow/all/flamegraph, top, peek, source
//	                                    activities of all recent slow operations
//	/debug/pprof/slow/usual?op=NAME     explain the next operation that takes as long as most
//	/debug/pprof/slow/<id>.trace        trace of an operation for "go tool trace"
//	/debug/pprof/slow/<id>/source, flamegraph, top, peek
//	                                    its waits, and the activities of those it waited for
//	/debug/pprof/data/                  tables, indexes, watches and oldest readers, if there
//	                                    is Config.Data
//	/debug/pprof/runs/                  saved runs, if there is Config.Runs
//	/debug/pprof/runs/compare?old=A&new=B
//	                                    changes from run A to run B
//	/debug/pprof/runs/<run>/            results of a run, and its profiles
//	/debug/pprof/runs/<run>/<file>/flamegraph, top, peek, source, download
//	                                    pages of a profile
//	/debug/pprof/runs/<run>/<file>/minus/<run>/<file>/flamegraph, ...
//	                                    difference of two profiles
//	/metrics                            for Prometheus
//
// The pages load nothing from elsewhere, and the source page opens no files but those that the
// running program was built from.
//
// # Access
//
// Profiles tell much about a program, and taking one costs it time. Without a [Config.Token] only
// requests from this machine are answered: the peer's address must be loopback and no header may
// say that a proxy forwarded it. With a token every request must carry it, and any address may be
// listened on. In both cases the Host header must name this machine, so that a page whose name was
// rebound to the loopback address reads nothing. A foreign Origin, captures started by a page of
// another site and methods other than GET are refused.
//
// # Costs
//
// Once a second the charts read some metrics of the runtime and the machine, the statistics of each
// map and the workload: some tens of microseconds, and the time of the workload's source. [Start]
// sets profile rates, which cost something where goroutines wait (see [Config.MutexFraction] and
// [Config.BlockRate]). A CPU profile interrupts each running thread 100 times per second. A
// wall-clock profile includes a CPU profile. At most 100 times per second it takes the stacks of
// all goroutines: this stops the program for about a microsecond for each stack, and takes at most
// a tenth of one processor. Of a stack off the processor it has 32 frames.
//
// Captures are bounded. At a time the whole process takes one CPU or wall-clock profile, one
// execution trace, and four windows of other profiles, each for at most two minutes. A trace for a
// report on contention takes at most ten seconds. [Service.Instrumented] says the cost of a trace;
// recording slow operations costs as much while it is on, see [SlowConfig]. At most 32 captures are
// kept, compressed.
package profiling
