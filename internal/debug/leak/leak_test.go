package leak

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { VerifyTestMain(m) }

// A goroutine that is left is found, and one that was there or ends is not.
func TestLeft(t *testing.T) {
	end := make(chan struct{})
	before := Current()
	go func() { <-end }()
	others := slices.DeleteFunc(stacks(), func(stack string) bool { return before[id(stack)] })
	require.Len(t, others, 1)
	require.Contains(t, others[0], "leak.TestLeft")
	VerifyNone(t, Current())
	close(end)
	VerifyNone(t, before)
}
