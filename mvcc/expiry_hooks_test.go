//go:build mvcccheck

package mvcc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A record that is given a later time when it is about to be deleted stays, until that time.
func TestSweepLooksAgain(t *testing.T) {
	m := sessions(t, &Options{ManualReclaim: true})
	m.Store(1, session{until: time.Unix(1, 0)})
	once(t, hooks.Swept, func() { m.Store(1, in(time.Hour)) })
	require.NoError(t, m.Reclaim(bg))
	require.Equal(t, 1, m.Len())
	m.Store(1, session{until: time.Unix(1, 0)})
	require.NoError(t, m.Reclaim(bg))
	require.Zero(t, m.Len())
}
