//go:build !race

package slots_test

const race = false
