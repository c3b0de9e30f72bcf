// Package peers makes engines of package bench from the alternatives of a user to the transactional
// map: the transactional stores that run inside a Go program, each through the cheapest calls of
// its own interface that do the job. They are measured and verified exactly as the map is.
//
// The package is a module of its own, so that nobody who imports the map
// compiles, or has to trust, any of them.
//
// The Doc of a peer names its isolation. The tests have a schedule for each anomaly that a Doc
// claims.
package peers
