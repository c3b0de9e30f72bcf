package gc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/gc"
)

func TestViewMin(t *testing.T) {
	for _, c := range []struct {
		view gc.View
		want uint64
	}{
		{gc.View{Bound: 1}, 1},
		{gc.View{Bound: 9}, 9},
		{gc.View{Bound: 9, Live: []uint64{8}}, 8},
		{gc.View{Bound: 9, Live: []uint64{2, 3, 8}}, 2},
	} {
		require.Equal(t, c.want, c.view.Min(), "%v", c.view)
	}
}

func TestViewEnded(t *testing.T) {
	for _, c := range []struct {
		old, now []uint64
		want     bool
	}{
		{nil, nil, false},
		{nil, []uint64{5}, false},
		{[]uint64{5}, []uint64{5}, false},
		{[]uint64{5}, nil, true},
		{[]uint64{5}, []uint64{6}, true},
		{[]uint64{5}, []uint64{4}, true},
		{[]uint64{5}, []uint64{5, 6}, false},
		{[]uint64{5}, []uint64{3, 5, 6}, false},
		{[]uint64{3, 5, 7}, []uint64{3, 5, 7}, false},
		{[]uint64{3, 5, 7}, []uint64{5, 7}, true},
		{[]uint64{3, 5, 7}, []uint64{3, 7}, true},
		{[]uint64{3, 5, 7}, []uint64{3, 5}, true},
		{[]uint64{3, 5, 7}, []uint64{3, 5, 8}, true},
		{[]uint64{3, 5, 7}, []uint64{3, 4, 5, 6, 7, 8, 9}, false},
		{[]uint64{3, 5, 7}, []uint64{3, 4, 6, 7, 8, 9}, true},
	} {
		now := gc.View{Bound: 10, Live: c.now}
		require.Equal(t, c.want, now.Ended(&gc.View{Bound: 8, Live: c.old}), "%v -> %v", c.old, c.now)
	}
}

// Against the definition, for all pairs of subsets of a small set.
func TestViewEndedExhaustively(t *testing.T) {
	subset := func(bits int) (s []uint64) {
		for i := range 5 {
			if bits>>i&1 == 1 {
				s = append(s, uint64(10+i))
			}
		}
		return s
	}
	for old := range 32 {
		for now := range 32 {
			v := gc.View{Bound: 20, Live: subset(now)}
			require.Equal(t, old&^now != 0, v.Ended(&gc.View{Bound: 15, Live: subset(old)}),
				fmt.Sprint(subset(old), subset(now)))
		}
	}
}
