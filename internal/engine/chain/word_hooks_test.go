//go:build mvcccheck

package chain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Which steps a record may take, and which are noticed.
func TestInvariantOfSteps(t *testing.T) {
	var zero Word
	var active, aborted = Special(KindActive), Special(KindAborted)
	announced := zero.Announced(5, 0)
	validating := zero.Announced(5, CheckBit)
	tentative := validating.Drawn(7)
	committed9 := zero.At(9)
	legal := map[[2]Word]bool{
		{active, active + InstallStep}:                    true,
		{active, zero.Announced(0, 0)}:                    true,
		{active, zero.Announced(0, CheckBit)}:             true,
		{active, zero.Announced(3, 0)}:                    true,
		{active, aborted}:                                 true,
		{announced, zero.At(6)}:                           true,
		{announced, aborted}:                              true,
		{validating, tentative}:                           true,
		{validating, aborted}:                             true,
		{tentative, zero.At(7)}:                           true,
		{tentative, tentative ^ CheckBit}:                 true,
		{tentative, zero.Announced(7, CheckBit)}:          true,
		{tentative, aborted}:                              true,
		{Indirect(4), committed9}:                         true,
		{announced | TombBit, Word(TombBit).At(6)}:        true,
		{announced | TombBit, zero.At(6)}:                 false,
		{announced, zero.At(5)}:                           false, // a stale draw
		{announced, tentative}:                            false,
		{validating, committed9}:                          false, // not validated
		{tentative, committed9}:                           false,
		{tentative, zero.Announced(0, CheckBit)}:          false, // no floor
		{tentative, zero.Announced(7, 0)}:                 false, // no check
		{active, committed9}:                              false,
		{committed9, zero.At(10)}:                         false,
		{committed9, aborted}:                             false,
		{aborted, active}:                                 false,
		{aborted, committed9}:                             false,
		{Special(KindMark), committed9}:                   false,
		{Indirect(4), announced}:                          false,
		{announced, Word(1<<CountShift).Announced(5, 0)}:  false,
		{tentative, zero.Announced(8, CheckBit).Drawn(9)}: false,
	}
	for step, ok := range legal {
		take := func() { checkStep(step[0], step[1]) }
		if ok {
			require.NotPanics(t, take, "%v -> %v", step[0], step[1])
		} else {
			require.Panics(t, take, "%v -> %v", step[0], step[1])
		}
	}
	require.Equal(t, "tentative(7)+check+tombstone+count=3",
		(tentative | CheckBit | TombBit | 3<<CountShift).String())
	require.Equal(t, "active(1)", (active + InstallStep).String())
	require.Equal(t, "indirect(4)", Indirect(4).String())
	require.Equal(t, "committed(9)", committed9.String())
	require.Equal(t, "announced(5)", announced.String())
}
