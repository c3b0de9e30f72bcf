// Package goid tells goroutines apart: it says whether two calls were made by the same
// one. Nothing else follows from an ID, which another goroutine may have later.
package goid
