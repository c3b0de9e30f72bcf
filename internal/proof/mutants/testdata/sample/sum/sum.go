// Package sum is the one that the tests of the mutation runner mutate.
package sum

// Max returns the larger of a and b.
func Max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Countdown counts n down to zero and returns the number of steps.
func Countdown(n int) int {
	steps := 0
	for n > 0 {
		n--
		steps++
	}
	return steps
}
