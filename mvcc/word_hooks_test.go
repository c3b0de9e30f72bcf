//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Which steps a record may take, and which are noticed.
func TestInvariantOfSteps(t *testing.T) {
	var zero word
	var active, aborted = special(kindActive), special(kindAborted)
	announced := zero.announced(5, 0)
	validating := zero.announced(5, checkBit)
	tentative := validating.drawn(7)
	committed9 := zero.at(9)
	legal := map[[2]word]bool{
		{active, active + installStep}:                    true,
		{active, zero.announced(0, 0)}:                    true,
		{active, zero.announced(0, checkBit)}:             true,
		{active, zero.announced(3, 0)}:                    true,
		{active, aborted}:                                 true,
		{announced, zero.at(6)}:                           true,
		{announced, aborted}:                              true,
		{validating, tentative}:                           true,
		{validating, aborted}:                             true,
		{tentative, zero.at(7)}:                           true,
		{tentative, tentative ^ checkBit}:                 true,
		{tentative, zero.announced(7, checkBit)}:          true,
		{tentative, aborted}:                              true,
		{indirect(4), committed9}:                         true,
		{announced | tombBit, word(tombBit).at(6)}:        true,
		{announced | tombBit, zero.at(6)}:                 false,
		{announced, zero.at(5)}:                           false, // a stale draw
		{announced, tentative}:                            false,
		{validating, committed9}:                          false, // not validated
		{tentative, committed9}:                           false,
		{tentative, zero.announced(0, checkBit)}:          false, // no floor
		{tentative, zero.announced(7, 0)}:                 false, // no check
		{active, committed9}:                              false,
		{committed9, zero.at(10)}:                         false,
		{committed9, aborted}:                             false,
		{aborted, active}:                                 false,
		{aborted, committed9}:                             false,
		{special(kindMark), committed9}:                   false,
		{indirect(4), announced}:                          false,
		{announced, word(1<<countShift).announced(5, 0)}:  false,
		{tentative, zero.announced(8, checkBit).drawn(9)}: false,
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
		(tentative | checkBit | tombBit | 3<<countShift).String())
	require.Equal(t, "active(1)", (active + installStep).String())
	require.Equal(t, "indirect(4)", indirect(4).String())
	require.Equal(t, "committed(9)", committed9.String())
	require.Equal(t, "announced(5)", announced.String())
}
