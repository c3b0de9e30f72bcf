package etcd

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/internal/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// offline returns a replica without a cluster, as it is after it has loaded some records at
// revision 50, with one table.
func offline(t *testing.T) (*DB, *Table[string, int]) {
	s := NewSchema(&mvcc.Options{Retain: 1 << 40})
	a := NewTable[string, int](s, "a", nil)
	return replay(t, s), a
}

func replay(t *testing.T, s *Schema) *DB {
	cfg, err := Config{Prefix: "p/", Schema: s,
		Client: clientv3.Config{Endpoints: []string{"nobody"}}}.withDefaults()
	require.NoError(t, err)
	db := &DB{cfg: cfg, keys: keys{cfg.Prefix}, schema: s, local: s.db, hooks: replicate.Of(s.db),
		applied: newApplied(), self: "self"}
	t.Cleanup(s.db.Close)
	require.NoError(t, db.replay(&loaded{rev: 50, guards: map[string]guard{"a/-": {40, "x", 7}},
		records: []*mvccpb.KeyValue{record("a/k", "3", 30), record("a/old", "1", 1), record("a/l", "2", 20)}}))
	return db
}

func record(name, value string, rev int64) *mvccpb.KeyValue {
	return &mvccpb.KeyValue{Key: []byte("p/t/" + name), Value: []byte(value), ModRevision: rev}
}

func put(name, value string, rev int64) *clientv3.Event {
	return &clientv3.Event{Type: clientv3.EventTypePut, Kv: record(name, value, rev)}
}

func guardEvent(table string, rev, version int64) *clientv3.Event {
	return &clientv3.Event{Type: clientv3.EventTypePut, Kv: &mvccpb.KeyValue{Key: []byte("p/g/" + table + "/-"),
		ModRevision: rev, Version: version}}
}

// What is loaded has the revisions of the records as the epochs of its versions, but for what is
// older than the local clock; and the clock is where the cluster is.
func TestReplay(t *testing.T) {
	db, a := offline(t)
	require.EqualValues(t, 50, db.Epoch())
	require.EqualValues(t, 50, db.applied.now())
	versions, err := a.versions(db.hooks)
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{"k": 30, "l": 20, "old": 2}, versions)
	require.EqualValues(t, 1, db.exact.of("p/t/a/old", 2))
	require.EqualValues(t, 9, db.exact.of("p/t/a/old", 9), "another version")
}

// Events are applied by their own revisions, each revision as one commit; what was applied before
// is passed over, and so is what is of others.
func TestEvents(t *testing.T) {
	db, a := offline(t)
	require.NoError(t, db.events([]*clientv3.Event{
		put("a/k", "0", 30), guardEvent("a", 30, 6), // again
		put("a/k", "4", 60), put("a/m", "5", 60), guardEvent("a", 60, 8),
		put("unknown/k", "text", 61), guardEvent("unknown", 61, 1),
		{Type: clientv3.EventTypePut, Kv: &mvccpb.KeyValue{Key: []byte("p/w"), ModRevision: 62}},
		{Type: clientv3.EventTypeDelete, Kv: record("a/k", "", 70)}, guardEvent("a", 70, 9),
	}))
	require.EqualValues(t, 70, db.Epoch())
	for at, want := range map[uint64]map[string]int{
		50: {"k": 3, "l": 2, "old": 1}, 60: {"k": 4, "l": 2, "m": 5, "old": 1}, 70: {"l": 2, "m": 5, "old": 1},
	} {
		s, err := db.SnapshotAt(at)
		require.NoError(t, err)
		got := map[string]int{}
		for k, v := range a.At(s).All() {
			got[k] = v
		}
		s.Close()
		require.Equal(t, want, got)
	}
}

// A function of the program that fails on what others have written ends the replica, and nothing
// else.
func TestApplyPanics(t *testing.T) {
	for name, fail := range map[string]func(){
		"panics": func() { panic("mine") }, "exits": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSchema(nil)
			a := NewTable[string, int](s, "a", nil)
			_, err := NewIndex(a, "fails", func(_ string, v int) []int {
				if v == 4 {
					fail()
				}
				return nil
			}, nil)
			require.NoError(t, err)
			db := replay(t, s)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if err := db.events([]*clientv3.Event{put("a/k", "4", 60), guardEvent("a", 60, 8)}); err != nil {
					db.fail(err)
				}
			}()
			<-done
			require.ErrorIs(t, db.Err(), errApply)
			v, _ := a.Load("k")
			require.Equal(t, 3, v)
			require.EqualValues(t, 50, db.Epoch())
		})
	}
}

// What cannot be right is not applied, and nothing after it.
func TestEventsRefused(t *testing.T) {
	for name, run := range map[string]struct {
		events []*clientv3.Event
		want   error
	}{
		"no guard":            {[]*clientv3.Event{put("a/k", "4", 60)}, ErrForeignWriter},
		"a commit is missing": {[]*clientv3.Event{put("a/k", "4", 60), guardEvent("a", 60, 9)}, ErrHistoryLost},
		"another history":     {[]*clientv3.Event{put("a/k", "4", 60), guardEvent("a", 60, 7)}, ErrHistoryLost},
		"not to be decoded":   {[]*clientv3.Event{put("a/k", "text", 60), guardEvent("a", 60, 8)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			db, a := offline(t)
			err := db.events(append(run.events, put("a/k", "5", 61), guardEvent("a", 61, 9)))
			if run.want == nil {
				var codec *CodecError
				require.ErrorAs(t, err, &codec)
			} else {
				require.ErrorIs(t, err, run.want)
			}
			v, _ := a.Load("k")
			require.Equal(t, 3, v)
			require.EqualValues(t, 50, db.Epoch())
		})
	}
}
