//go:build !race

package commit_test

const race = false
