//go:build race

package stage

const Race = true
