//go:build mvcccheck

package mvcc_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

// TestDisturbedHistories: as TestHistories, while goroutines lose their processor
// between two steps of the protocol, for as long as others need for whole
// transactions.
func TestDisturbedHistories(t *testing.T) {
	for _, kind := range []history.Kind{history.KindAppend, history.KindRegister} {
		for _, test := range historyTests {
			t.Run(string(kind)+"/"+test.name, func(t *testing.T) {
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
				for i := range uint64(historyRepeats()) {
					cfg := history.Mixed(kind, *historySeed+i)
					cfg.Txs = historySize(3000, 1000)
					test.change(&cfg)
					checkHistory(t, cfg)
				}
			})
		}
	}
}
