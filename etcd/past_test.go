package etcd

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A replica that was opened at revision 50 does not know what there was at 25: record k, of
// revision 30, may have been there with another value, and others may have been deleted since. So
// it reads as of no such revision, and a follower begins anew.
func TestBeforeOpen(t *testing.T) {
	kept, _ := offline(t)
	schema := NewSchema(nil)
	NewTable[string, int](schema, "a", nil)
	for _, db := range []*DB{kept, replay(t, schema)} {
		for _, at := range []uint64{25, 49} {
			_, err := db.SnapshotAt(at)
			require.ErrorIs(t, err, mvcc.ErrEpochGone)
			begun := errors.New("it begins anew")
			err = db.Follow(t.Context(), &mvcc.FollowOptions{After: at}, func(mvcc.DBSnapshot) error {
				return begun
			}, func(c mvcc.DBCommit) error { return errors.New("it goes on") })
			require.Equal(t, begun, err)
		}
		s, err := db.SnapshotAt(50)
		require.NoError(t, err)
		s.Close()
	}
}
