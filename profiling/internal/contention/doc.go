// Package contention finds out where goroutines wait, how often and for how
// long: a [Report] lists waits by kind and by the line of code that waited.
//
// There are two sources. [FromProfiles] reads the gain of the runtime's block and mutex profiles
// during a window; these are cheap enough to be always on, but have no maximum and miss some kinds
// of wait. [FromTrace] reads an execution trace, which has every wait that begins in it, with its
// exact length.
//
//	kind of wait                        block, mutex   trace
//	Mutex, RWMutex, Once                yes            yes
//	channel send and receive, select    yes            yes
//	Cond, WaitGroup                     yes            yes
//	locks within the runtime            yes (mutex)    no
//	sleep, network, system call         no             yes
//	runnable, waiting for a processor   no             yes
//	garbage collection: assists, stops  no             yes
//	still waiting at the end            no             yes
//
// A report becomes a profile of its own with [Report.Profile], for flame graphs.
package contention
