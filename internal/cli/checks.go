package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// CheckNames checks a list of names: known, and named once.
func CheckNames(flag, what string, names, known []string) error {
	if len(names) == 0 {
		return usagef("%s: no %s given; expected one or more of %s", flag, what,
			strings.Join(known, ", "))
	}
	for i, name := range names {
		if !slices.Contains(known, name) {
			return usagef("%s: unknown %s %q%s; expected one or more of %s", flag, what, name,
				hint(name, known), strings.Join(known, ", "))
		}
		if slices.Contains(names[:i], name) {
			return usagef("%s: %s %q is named twice", flag, what, name)
		}
	}
	return nil
}

const forever = time.Duration(math.MaxInt64)

// within says of a number whether it is from low to high.
func within[T cmp.Ordered](low, high T) func(T) bool {
	return func(n T) bool { return low <= n && n <= high }
}

// numbers checks the values of a flag, none of which may be there twice.
func numbers[T comparable](flag string, list []T, expects string, ok func(T) bool) error {
	for i, n := range list {
		if !ok(n) {
			return usagef("%s: expected %s, not %v", flag, expects, n)
		}
		if slices.Contains(list[:i], n) {
			return usagef("%s: %v is given twice", flag, n)
		}
	}
	return nil
}

// checkCount checks how many samples there are to be.
func checkCount(n int) error {
	return numbers("--count", []int{n}, "a number of 1 or more", within(1, math.MaxInt))
}

// CheckNumbers checks a flag that is a list of different numbers from low to high.
func CheckNumbers(flag string, list []int, low, high int) error {
	expected := fmt.Sprintf("from %d to %d", low, high)
	if len(list) == 0 {
		return usagef("%s: no number given; expected one or more %s", flag, expected)
	}
	return numbers(flag, list, "numbers "+expected, within(low, high))
}

// checkRun checks the times of a sample.
func checkRun(duration, warmup time.Duration) error {
	return cmp.Or(
		numbers("--duration", listOf(&duration), "a time above 0, such as 1s", within(1, forever)),
		numbers("--warmup", listOf(&warmup), "a time of 0 or more, such as 100ms", within(0, forever)))
}

// given returns what a flag was set to, or, if it was not, what it is otherwise.
func given[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// listOf returns the value of a flag, if it was given.
func listOf[T any](v *T) []T {
	if v == nil {
		return nil
	}
	return []T{*v}
}
