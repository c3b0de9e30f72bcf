package etcdtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Transactions that were to be committed together end with their contexts while the process is cut off:
// nothing was sent.
func TestCombinedCutOff(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	increment := func(ctx context.Context) error {
		return p.Update(ctx, func(tx mvcc.DBTx) error {
			p.a.In(tx).Merge("x", func(old int, _ bool) int { return old + 1 })
			return nil
		})
	}
	p.gate.set(true)
	var ends sync.WaitGroup
	for range 8 {
		ends.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if err := increment(ctx); ctx.Err() == nil {
				t.Error("it ended before its context:", err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { ends.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience / 4):
		t.Error("Updates outlive their contexts")
	}
	p.gate.set(false)
	<-ended
	require.NoError(t, increment(within(t)))
	v, _ := p.a.Load("x")
	require.Equal(t, 1, v, "one that had ended was committed")
}
