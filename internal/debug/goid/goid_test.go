package goid

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// One goroutine has one ID, whatever its stack does and wherever it runs; those that run
// at the same time have different ones.
func TestGet(t *testing.T) {
	const n = 100
	ids := make([]ID, n)
	var begun, ended sync.WaitGroup
	begun.Add(n)
	for i := range ids {
		ended.Go(func() {
			ids[i] = Get()
			begun.Done()
			begun.Wait()
			for range 10 {
				runtime.Gosched()
				if deep(1000) != ids[i] {
					t.Error("the ID has changed")
				}
			}
		})
	}
	ended.Wait()
	seen := map[ID]bool{}
	for _, id := range ids {
		require.False(t, seen[id], "two goroutines have the ID %v", id)
		seen[id] = true
	}
}

// deep calls Get where the stack has grown, and so moved.
func deep(n int) ID {
	if n == 0 {
		return Get()
	}
	return deep(n - 1)
}
