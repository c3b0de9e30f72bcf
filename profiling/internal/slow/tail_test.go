package slow_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// total returns the sum of the parts of a tail.
func total(tail *slow.Tail) (sum time.Duration) {
	for _, p := range tail.Parts {
		sum += p.Total
	}
	return sum
}

// The sum has all operations with marks, by name, before the one that is reported on and after it.
func TestTailHasAllOperations(t *testing.T) {
	const each = 4
	var took time.Duration
	buf := traced(t, func() {
		var mark uint64
		locked := func() {
			var mu sync.Mutex
			held := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() { plantedHolder(&mu, held) })
			<-held
			start := time.Now()
			testload.TakeLock(&mu)
			end := time.Now()
			mark++
			slow.Mark(mark, "lock it", end.Sub(start), end)
			took = end.Sub(start)
			wg.Wait()
		}
		asleep := func() {
			start := time.Now()
			time.Sleep(plantedTime)
			end := time.Now()
			mark++
			slow.Mark(mark, "sleep", end.Sub(start), end)
		}
		slow.Mark(100, "of another recording", time.Second, time.Now())
		over := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { // an operation that began before the end of the others, and ends after them
			start := time.Now()
			<-over
			end := time.Now()
			slow.Mark(50, "all the time", end.Sub(start), end)
		})
		for range each {
			locked()
		}
		for range each {
			asleep()
		}
		close(over)
		wg.Wait()
	})
	data := buf.Bytes()
	_, tails, last, err := slow.FromTrace(bytes.NewReader(data), each, took, machine.Usage{},
		slow.Others{Longest: time.Minute})
	require.NoError(t, err)
	require.EqualValues(t, 100, last)

	require.Len(t, tails, 4)
	found := 0
	for _, tail := range tails {
		require.Equal(t, tail.Took, total(tail), tail.Op)
		top := tail.Parts[0]
		switch tail.Op {
		case "lock it":
			found++
			require.Equal(t, each, tail.Count)
			if top.Kind == contention.Mutex { // a busy machine may have taken longer
				require.True(t, strings.HasSuffix(top.Site.Func, ".TakeLock"), top.Site)
				require.Contains(t, tail.String(), "waiting for a sync.Mutex at testload.go:")
				require.NotEmpty(t, top.Because)
				if root := top.Because[0]; root.Kind == contention.Sleep {
					require.True(t, strings.HasSuffix(root.Site.Func, ".plantedHolder"), root.Site)
					require.Regexp(t, `\), while others were mostly sleeping at slow_test\.go:\d+ \(`,
						tail.String())
				}
			}
			require.LessOrEqual(t, top.Ops, each)
		case "sleep":
			found++
			require.Equal(t, each, tail.Count)
		case "all the time":
			found++
			require.Equal(t, 1, tail.Count)
		}
	}
	require.Equal(t, 3, found)

	_, tails, last, err = slow.FromTrace(bytes.NewReader(data), 99, took, machine.Usage{},
		slow.Others{After: each, Longest: time.Minute})
	require.ErrorIs(t, err, slow.ErrNoMark)
	require.EqualValues(t, 100, last)
	require.Len(t, tails, 3, "those that were summed up before are not again")
	p := slow.TailProfile(tails, time.Now())
	require.NoError(t, p.CheckValid())
	var sum int64
	for _, s := range p.Sample {
		if strings.HasSuffix(s.Label["wait"][0], " of others") {
			continue
		}
		require.Len(t, s.Label["operation"], 1)
		sum += s.Value[1]
	}
	require.EqualValues(t, total(tails[0])+total(tails[1])+total(tails[2]), sum)
}

// Time without a processor is named first, unless it is next to nothing.
func TestTailNamesLostProcessorsFirst(t *testing.T) {
	tail := func(off time.Duration) *slow.Tail {
		const took = 100 * time.Millisecond
		return &slow.Tail{Op: "op", Count: 2, Took: took, Parts: []slow.Part{
			{Kind: slow.Off, Ops: 1, Total: off},
			{Kind: contention.Scheduler, Ops: 2, Total: took - off},
		}}
	}
	for off, want := range map[time.Duration]string{
		20 * time.Millisecond: "20 % not on a processor, 80 % runnable, without a processor",
		9 * time.Millisecond:  "91 % runnable, without a processor, 9 % not on a processor",
		0:                     "100 % runnable, without a processor",
	} {
		require.Equal(t, want, fmt.Sprint(slow.Merge([]*slow.Tail{tail(off)})[0]))
	}
	sum := slow.Merge([]*slow.Tail{tail(20), {Op: "long", Count: 1, Took: time.Second}, tail(30)})
	require.Equal(t, "long", sum[0].Op)
	require.Equal(t, 4, sum[1].Count)
	require.EqualValues(t, 50, sum[1].Parts[1].Total)
	require.Equal(t, 2, sum[1].Parts[1].Ops)
}
