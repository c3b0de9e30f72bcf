package mvcc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Values are found where the compiler has put them, whatever the types are.
func TestRecords(t *testing.T) {
	type odd struct {
		A bool
		B string
		C [3]byte
	}
	t.Run("int8", recordsOf(map[int8]int64{-1: 1 << 40, 7: -3}))
	t.Run("nothing", recordsOf(map[string]struct{}{"a": {}, "b": {}}))
	t.Run("bytes", recordsOf(map[[3]byte]uint16{{1, 2, 3}: 77, {}: 1}))
	t.Run("odd", recordsOf(map[odd]odd{{true, "x", [3]byte{9}}: {false, "y", [3]byte{8, 7}}}))
	t.Run("any", recordsOf(map[any]any{1: "one", "two": 2, nil: nil, 2.5: odd{B: "z"}}))
	t.Run("bool", recordsOf(map[bool][5]byte{true: {1, 2, 3, 4, 5}, false: {}}))
	t.Run("complex", recordsOf(map[complex64]*int{1i: new(int)}))
	t.Run("wide", recordsOf(map[uint32]complex128{1: 1i, 2: 2}))
}

func recordsOf[K comparable, V any](want map[K]V) func(t *testing.T) {
	return func(t *testing.T) {
		db := mvcc.NewDB(nil)
		defer db.Close()
		m := mvcc.NewTable[K, V](db, "t", nil)
		for k, v := range want {
			m.Store(k, v)
		}
		s := db.Snapshot()
		defer s.Close()
		m.Clear() // the snapshot still has all
		got := map[K]V{}
		for k, v := range s.Records("t", nil) {
			key, _ := k.(K)
			got[key], _ = v.(V)
			one, ok := s.Record("t", k)
			require.True(t, ok)
			require.Equal(t, v, one)
		}
		require.Equal(t, want, got)
	}
}

func TestRecordsInOrder(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewOrderedTable[string, int](db, "words", nil)
	for i, w := range []string{"d", "a", "c", "b", "e"} {
		m.Store(w, i)
	}
	m.Delete("c")
	s := db.Snapshot()
	var keys []any
	for k := range s.Records("words", "b") {
		if keys = append(keys, k); len(keys) == 2 {
			break
		}
	}
	require.Equal(t, []any{"b", "d"}, keys)
	_, ok := s.Record("words", "c")
	require.False(t, ok)
	s.Close()
	require.Panics(t, func() { s.Record("words", "a") })
}

func TestRecordsMisuse(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	mvcc.NewTable[int, int](db, "t", nil)
	s := db.Snapshot()
	defer s.Close()
	for want, call := range map[string]func(){
		`mvcc: Records: the snapshot has no table "x"`: func() { s.Records("x", nil) },
		`mvcc: Records: the keys of table "t" have no order: from must be nil`: func() {
			s.Records("t", 1)
		},
		`mvcc: Record: the key is a string, want a int, as in table "t"`: func() { s.Record("t", "1") },
		`mvcc: Record: the key is a <nil>, want a int, as in table "t"`:  func() { s.Record("t", nil) },
	} {
		require.PanicsWithValue(t, want, call)
	}
	made := mvcc.NewTable[int, int](db, "later", nil)
	made.Store(1, 1)
	require.Equal(t, []string{"t"}, s.Tables())
	made.Close()
	again := db.Snapshot()
	defer again.Close()
	require.Equal(t, []string{"t"}, again.Tables())
	require.Panics(t, func() { s.Record("later", 1) }, "the snapshot is older")
}
