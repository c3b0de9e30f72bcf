//go:build mvcccheck

package mvcc_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// TestDisturbedHistories: as TestHistories, while goroutines lose their processor
// between two steps of the protocol, for as long as others need for whole
// transactions.
func TestDisturbedHistories(t *testing.T) {
	for _, test := range historyTests {
		t.Run(test.name, func(t *testing.T) {
			defer hooks.Set(func(hooks.Point) {
				switch n := rand.IntN(200); {
				case n == 0:
					for range rand.IntN(200) {
						runtime.Gosched()
					}
				case n < 20:
					runtime.Gosched()
				}
			})()
			test.check(t, 3000, 1000)
		})
	}
}
