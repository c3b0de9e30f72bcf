//go:build !race

package stage

const Race = false
