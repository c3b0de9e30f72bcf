// Package pprofui shows profiles by the pages of github.com/google/pprof, also such
// that somebody else has made.
package pprofui
