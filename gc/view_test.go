package gc_test

import (
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
