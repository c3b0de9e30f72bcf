package etcdtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A revision that was passed over, because everything was loaded anew, is no state.
func TestSnapshotAtBesideResync(t *testing.T) {
	c, prefix := start(t, 1, 0), newPrefix()
	p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
	q.set(t, q.a, "x", 1)
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	p.gate.set(true)
	second := q.set(t, q.a, "x", 2)
	q.set(t, q.a, "x", 3)
	last := q.set(t, q.a, "x", 4)
	client, err := c.Client()
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Compact(within(t), int64(last))
	require.NoError(t, err)
	p.gate.set(false)
	require.NoError(t, p.WaitFor(within(t), last))
	require.EqualValues(t, 1, p.Stats().Resyncs)
	require.NoError(t, p.WaitFor(within(t), second))
	_, err = p.SnapshotAt(second)
	require.ErrorIs(t, err, mvcc.ErrEpochGone)
}
