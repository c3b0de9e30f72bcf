package etcd

import (
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
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
		applied: s.applied, self: "self"}
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

// Records that are loaded have their revisions as the epochs of their versions, but for those older
// than the local clock; and the clock is where the cluster is.
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

// Events are applied by their own revisions, each revision as one commit; those that were applied
// before are passed over, and so are those of others.
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

// A function of an index that ends the goroutine for a record that others have written ends the
// replica, and nothing else.
func TestApplyExits(t *testing.T) {
	s := NewSchema(nil)
	a := NewTable[string, int](s, "a", nil)
	_, err := NewIndex(a, "fails", func(_ string, v int) []int {
		if v == 4 {
			runtime.Goexit()
		}
		return nil
	}, nil)
	require.NoError(t, err)
	db := replay(t, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = db.events([]*clientv3.Event{put("a/k", "4", 60), guardEvent("a", 60, 8)})
	}()
	<-done
	require.ErrorIs(t, db.Err(), errApply)
	v, _ := a.Load("k")
	require.Equal(t, 3, v)
	require.EqualValues(t, 50, db.Epoch())
}

// A record that cannot be decoded, or for which a function panics, is broken, and the others are
// applied. Transactions that have read it say so, and those that have not go on; it is mended when
// it is written or deleted, and found again when everything is loaded.
func TestBroken(t *testing.T) {
	s := NewSchema(&mvcc.Options{Retain: 1 << 40})
	a := NewOrderedTable[string, int](s, "a", nil)
	_, err := NewIndex(a, "fails", func(_ string, v int) []int {
		if v == 4 {
			panic("mine")
		}
		return nil
	}, nil)
	require.NoError(t, err)
	db := replay(t, s)
	require.NoError(t, db.events([]*clientv3.Event{put("a/text", "text", 60), put("a/k", "4", 60),
		put("a/m", "5", 60), guardEvent("a", 60, 8), put("a/n", "6", 61), guardEvent("a", 61, 9)}))
	for key, want := range map[string]string{"text": "invalid character", "k": "mine"} {
		require.ErrorContains(t, a.Broken(key), want)
		_, has := a.Load(key)
		require.False(t, has)
	}
	require.NoError(t, a.Broken("m"))
	require.Equal(t, 2, db.Stats().Broken)
	require.Equal(t, 4, a.Len())
	was := map[string]uint64{}
	s.broken.revisions(db.keys.records(), was)
	require.Equal(t, map[string]uint64{"p/t/a/text": 60, "p/t/a/k": 60}, was)
	for name, run := range map[string]struct {
		reads   func(tx mvcc.Tx[string, int])
		refused bool
	}{
		"its key":       {func(tx mvcc.Tx[string, int]) { tx.Get("k") }, true},
		"a merge":       {func(tx mvcc.Tx[string, int]) { tx.Merge("k", func(v int, _ bool) int { return v + 1 }) }, true},
		"its range":     {func(tx mvcc.Tx[string, int]) { mvcc.CountRange(tx, mvcc.From("o").UpTo("text")) }, true},
		"everything":    {func(tx mvcc.Tx[string, int]) { tx.Len() }, true},
		"another key":   {func(tx mvcc.Tx[string, int]) { tx.Get("m") }, false},
		"another range": {func(tx mvcc.Tx[string, int]) { mvcc.CountRange(tx, mvcc.From("l").Before("text")) }, false},
		"it is written": {func(tx mvcc.Tx[string, int]) { tx.Set("k", 1) }, true}, // for the index
		"it is deleted": {func(tx mvcc.Tx[string, int]) { tx.Delete("text") }, true},
	} {
		w, err := db.hooks.Attempt(func(tx mvcc.DBTx) error {
			run.reads(a.In(tx))
			a.In(tx).Set("other", 1)
			return nil
		})
		require.NoError(t, err)
		var broken *CodecError
		if _, err = db.request(w); run.refused {
			require.ErrorAs(t, err, &broken, name)
		} else {
			require.NoError(t, err, name)
		}
	}
	var works []*replicate.Work // one request: the first reads a record, the other deletes it
	for _, fn := range []func(tx mvcc.Tx[string, int]){
		func(tx mvcc.Tx[string, int]) { tx.Get("k"); tx.Set("other", 1) },
		func(tx mvcc.Tx[string, int]) { tx.Delete("k") },
	} {
		w, err := db.hooks.Attempt(func(tx mvcc.DBTx) error { fn(a.In(tx)); return nil })
		require.NoError(t, err)
		works = append(works, w)
	}
	all, err := db.hooks.Renew(works)
	require.NoError(t, err)
	_, err = db.request(all, works...)
	var codec *CodecError
	require.ErrorAs(t, err, &codec)
	require.NoError(t, db.events([]*clientv3.Event{put("a/k", "7", 70), guardEvent("a", 70, 10),
		{Type: clientv3.EventTypeDelete, Kv: record("a/text", "", 71)}, guardEvent("a", 71, 11)}))
	require.Zero(t, db.Stats().Broken)
	v, _ := a.Load("k")
	require.Equal(t, 7, v)
	require.NoError(t, db.Err())
}

// A value that Decode refuses as Encode has made it is not committed.
func TestDecodedBeforeSent(t *testing.T) {
	s := NewSchema(nil)
	a := NewTable(s, "a", &TableOptions[string, int]{Codec: "digits",
		Encode: func(v int) ([]byte, error) { return []byte(strconv.Itoa(v)), nil },
		Decode: func(b []byte) (int, error) { v, err := strconv.ParseUint(string(b), 10, 64); return int(v), err }})
	db := replay(t, s)
	for v, refused := range map[int]bool{1: false, -1: true} {
		w, err := db.hooks.Attempt(func(tx mvcc.DBTx) error { a.In(tx).Set("x", v); return nil })
		require.NoError(t, err)
		var codec *CodecError
		_, err = db.request(w)
		require.Equal(t, refused, errors.As(err, &codec), err)
	}
}

// A record that somebody else has written, or deleted, is applied and told.
func TestForeign(t *testing.T) {
	db, a := offline(t)
	told := 0
	db.cfg.Logger = slog.New(slog.NewTextHandler(writer(func([]byte) { told++ }), nil))
	require.NoError(t, db.events([]*clientv3.Event{put("a/k", "4", 60),
		{Type: clientv3.EventTypeDelete, Kv: record("a/l", "", 61)}, put("a/m", "5", 62), guardEvent("a", 62, 8)}))
	v, _ := a.Load("k")
	require.Equal(t, []any{4, 3, uint64(62), 2, uint64(2)}, []any{v, a.Len(), db.Epoch(), told, db.Stats().Foreign})
}

// Events that cannot be right are not applied, and none after them.
func TestEventsRefused(t *testing.T) {
	for name, run := range map[string]struct {
		events []*clientv3.Event
		want   error
	}{
		"a commit is missing": {[]*clientv3.Event{put("a/k", "4", 60), guardEvent("a", 60, 9)}, ErrHistoryLost},
		"another history":     {[]*clientv3.Event{put("a/k", "4", 60), guardEvent("a", 60, 7)}, ErrHistoryLost},
	} {
		t.Run(name, func(t *testing.T) {
			db, a := offline(t)
			err := db.events(append(run.events, put("a/k", "5", 61), guardEvent("a", 61, 9)))
			require.ErrorIs(t, err, run.want)
			v, _ := a.Load("k")
			require.Equal(t, 3, v)
			require.EqualValues(t, 50, db.Epoch())
		})
	}
}
