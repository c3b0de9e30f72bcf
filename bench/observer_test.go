package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Without the matrix of sequence numbers, which many goroutines and keys make
// too large, the rest of the checks still stands.
func TestObserverWithoutMatrix(t *testing.T) {
	o := newObserver(1, 4, 10)
	require.NotNil(t, o.highest)
	big := newObserver(1, 1_000, 1_000)
	require.Nil(t, big.highest)
	v5, v6 := makeStamp(2, 3, 5), makeStamp(2, 3, 6)
	for name, o := range map[string]*observer{"with": o, "without": big} {
		require.NoError(t, o.got(3, loaded(3), true), name)
		require.NoError(t, o.got(3, v5, true), name)
		require.NoError(t, o.got(3, v5, true), name)
		require.Error(t, o.got(3, loaded(3), true), name)
		require.Error(t, o.got(3, makeStamp(2, 3, 4), true), name)
		require.Error(t, o.got(4, v6, true), name)
		require.Error(t, o.got(3, 0, true), name)
		require.Error(t, o.got(3, v6, false), name)
		require.Error(t, o.got(3, makeStamp(5_000, 3, 1), true), name)
		require.NoError(t, o.got(3, v6, true), name)
		mine := o.draw(3)
		o.put(3, mine)
		require.NoError(t, o.got(3, mine, true), name)
		require.Error(t, o.got(3, makeStamp(1, 3, mine+1), true), name)
		require.NoError(t, o.got(3, makeStamp(3, 3, 1), true), name)
		require.Error(t, o.got(3, mine, true), "%s: its own write came back", name)
	}
	require.Error(t, o.got(3, v6, true), "replaced by others and come back")
}

// What each check at the end refuses.
func TestFinalChecks(t *testing.T) {
	fresh := func() []*observer {
		return []*observer{newObserver(1, 2, 4), newObserver(2, 2, 4)}
	}
	all := fresh()
	require.NoError(t, checkFinal(all, 1, loaded(1), true))
	require.Error(t, checkFinal(all, 1, loaded(1), false))
	require.Error(t, checkFinal(all, 1, loaded(2), true))
	require.Error(t, checkFinal(all, 1, makeStamp(1, 1, 1), true), "never written")
	require.Error(t, checkFinal(all, 1, makeStamp(9, 1, 1), true))

	a1, a2 := all[0].draw(1), all[0].draw(1)
	all[0].put(1, a1)
	all[0].put(1, a2)
	require.NoError(t, checkFinal(all, 1, a2, true))
	require.Error(t, checkFinal(all, 1, a1, true), "not the last of its writer")
	require.Error(t, checkFinal(all, 1, loaded(1), true), "a write is lost")

	b1 := all[1].draw(1)
	all[1].put(1, b1)
	require.NoError(t, checkFinal(all, 1, a2, true))
	require.NoError(t, checkFinal(all, 1, b1, true))
	require.NoError(t, all[0].got(1, b1, true))
	require.Error(t, checkFinal(all, 1, a2, true), "goroutine 0 saw its write replaced")
	require.NoError(t, checkFinal(all, 1, b1, true))

	all = fresh()
	a1, b1 = all[0].draw(1), all[1].draw(1)
	all[0].put(1, a1)
	require.NoError(t, all[1].got(1, a1, true))
	all[1].put(1, b1)
	require.Error(t, checkFinal(all, 1, a1, true), "goroutine 1 replaced it")

	require.NoError(t, checkSeen(all))
	all[1].see(1, makeStamp(1, 1, 99))
	require.Error(t, checkSeen(all), "more than goroutine 0 wrote")
}
