package etcdtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Transactions that were to be committed together end with their contexts while the process is cut off:
// nothing was sent.
func TestCombinedCutOff(t *testing.T) {
	t.Parallel()
	p := open(t, shared(t), newPrefix(), nil)
	p.gate.set(true)
	var ends sync.WaitGroup
	for range 8 {
		ends.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if err := p.Update(ctx, nil, adders["merged"](p)); ctx.Err() == nil {
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
	require.NoError(t, p.Update(within(t), nil, adders["merged"](p)))
	v, _ := p.a.Load("x")
	require.Equal(t, 1, v, "one that had ended was committed")
}
