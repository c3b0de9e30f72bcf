package favour

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// While one claim on a key follows the other, no goroutine finds the key unclaimed: neither one
// that looks at any time, nor one that is woken by the end of a claim.
func TestNoGapBetweenClaims(t *testing.T) {
	var q Queue
	const n = 150
	keys := NewKeys(1 << 18) // has so much room that End takes its time: a gap in it would be wide
	keys.Add(hash(1))
	var claims []*Claim
	for range n {
		claims = append(claims, q.Enter(keys, time.Hour))
	}
	var last atomic.Bool
	var looking, gaps atomic.Int64
	var wg sync.WaitGroup
	for _, wait := range []bool{false, true} {
		wg.Go(func() {
			looking.Add(1)
			for !last.Load() {
				if !q.Any() || !q.Claimed(hash(1)) {
					if !last.Load() {
						gaps.Add(1)
					}
				} else if wait {
					q.Await(bg, hash(1))
				}
			}
		})
	}
	stage.Eventually(t, func() bool { return looking.Load() == 2 }, "nobody looks")
	for i, c := range claims {
		if i == n-1 {
			last.Store(true)
		}
		c.End()
	}
	wg.Wait()
	require.Zero(t, gaps.Load())
	requireEmpty(t, &q)
}
