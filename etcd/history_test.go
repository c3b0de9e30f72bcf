package etcd

import (
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A replica that was opened at revision 50 does not know the state at 25: record k, of revision 30,
// may have been there with another value, and others may have been deleted since. So it reads as of
// no such revision, and a follower begins anew.
func TestBeforeOpen(t *testing.T) {
	kept, _ := offline(t)
	schema := NewSchema(nil)
	NewTable[string, int](schema, "a", nil)
	for _, db := range []*DB{kept, replay(t, schema)} {
		for _, at := range []uint64{25, 49} {
			_, err := db.SnapshotAt(at)
			require.ErrorIs(t, err, mvcc.ErrEpochGone)
			begun := errors.New("it begins anew")
			err = db.Follow(t.Context(), &mvcc.FollowOptions{After: db.Position(at)}, func(mvcc.DBSnapshot) error {
				return begun
			}, func(c mvcc.DBCommit) error { return errors.New("it goes on") })
			require.Equal(t, begun, err)
		}
		s, err := db.SnapshotAt(50)
		require.NoError(t, err)
		s.Close()
	}
}

// The newest guard is known from a load, an applied commit or an answer.
func TestNewest(t *testing.T) {
	db, _ := offline(t)
	h := &db.history
	is := func(want string, at uint64) {
		t.Helper()
		of, last := h.newest()
		require.Equal(t, want, of)
		require.Equal(t, at, last.Rev)
	}
	is("a/-", 40)
	h.expect(60, "b/-", "mine")
	is("b/-", 60)
	h.put(map[string]guard{"a/-": {Rev: 55}})
	is("b/-", 60)
	h.put(map[string]guard{"a/-": {Rev: 65}, "c/-": {Rev: 64}})
	is("a/-", 65)
	h.put(map[string]guard{"a/-": {Rev: 65}, "b/-": {Rev: 67}})
	is("b/-", 67)
}

// A program agrees to a meta of another one only once it has checked it, and noted the tables that
// would lose something: until then it commits nothing that it would not have before.
func TestMetaChangedAgreesLast(t *testing.T) {
	type one struct{ Name string }
	s := NewSchema(nil)
	NewTable[int, one](s, "users", nil)
	db := replay(t, s)
	db.agreed.Store(50)
	asked := 0
	db.cfg.Logger = slog.New(slog.NewTextHandler(writer(func([]byte) {
		asked++
		_, noted := db.less.Load("users")
		require.True(t, noted)
		require.EqualValues(t, 50, db.agreed.Load())
	}), nil))
	for _, kept := range []string{`{"format": 3, "version": 2}`, `{"format": 4}`} {
		var refused *SchemaError
		require.ErrorAs(t, db.metaChanged(&mvccpb.KeyValue{Value: []byte(kept), ModRevision: 60}), &refused)
		require.EqualValues(t, 50, db.agreed.Load(), kept)
	}
	more := NewSchema(nil)
	NewTable[int, struct{ Name, Mail string }](more, "users", nil)
	m := meta{Format: format, Tables: map[string]metaTable{}}
	replay(t, more).add(&m)
	kept, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, db.metaChanged(&mvccpb.KeyValue{Value: kept, ModRevision: 60}))
	require.Equal(t, 1, asked)
	require.EqualValues(t, 60, db.agreed.Load())
}

// A writer is a function.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}
