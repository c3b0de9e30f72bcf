// Package soak runs random load on the map for as long as one likes, and checks
// everything that can be checked from outside: that the histories of transactions have
// an order that explains them, that one-key operations are linearizable, that watches,
// backups and a journal have the commits, that a map at rest holds nothing but its
// contents, and that it does not grow with the work of writers that never rest.
//
// [Run] does one round after the other. All choices of a [Round] follow from its
// seed: kind of check, keys, levels, options of the map, and goroutines and
// GOMAXPROCS, these two in proportion to the processors of the machine. The
// schedule does not, so a round that is repeated has the same parameters and
// another schedule.
package soak
