// Package soak runs random load on the map for as long as one likes, and checks
// everything that can be checked from outside: that the histories of
// transactions have an order that explains them, that one-key operations are
// linearizable, that every audit finds the sum that transfers leave unchanged,
// that a map at rest holds nothing but what is in it, and that it does not grow
// with what writers do that never rest.
//
// [Run] does one round after the other. All that is chosen in a [Round] follows
// from its seed: kind of check, keys, levels, options of the map, and goroutines
// and GOMAXPROCS, these two in proportion to the processors of the machine. What
// runs when does not, so a round that is repeated has the same parameters and
// another schedule.
package soak
