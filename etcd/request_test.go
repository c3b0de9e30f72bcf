package etcd

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A request compares each record that was read, and the guard of a table instead where these would
// be too many, of the table that has most of them first. A request that is larger than the servers
// allow is refused.
func TestRequest(t *testing.T) {
	db, a := offline(t)
	for _, run := range []struct{ reads, cmps, writes, ops int }{
		{1, 1, 1, 3}, {124, 124, 1, 3}, {125, 1, 1, 3}, {5000, 1, 1, 3}, {0, 0, 126, 128}, {0, 0, 127, 0},
		{125, 1, 126, 128}, {124, 0, 126, 0},
	} {
		w, err := db.hooks.Attempt(func(tx mvcc.DBTx) error {
			for i := range run.reads {
				a.In(tx).Has(fmt.Sprint("absent", i))
			}
			for i := range run.writes {
				a.In(tx).Set(fmt.Sprint("new", i), 1)
			}
			return nil
		})
		require.NoError(t, err)
		r, err := db.request(w)
		if run.ops == 0 {
			var large *TooLargeError
			require.ErrorAs(t, err, &large)
			require.ErrorContains(t, err, "129 operations")
			continue
		}
		require.NoError(t, err)
		require.Len(t, r.cmps, run.cmps)
		require.Equal(t, run.ops, 1+len(r.ops("x")))
	}
	w, err := db.hooks.Attempt(func(tx mvcc.DBTx) error {
		for i := range 100 {
			a.In(tx).Set(fmt.Sprint(i, string(make([]byte, 16_000))), 1)
		}
		return nil
	})
	require.NoError(t, err)
	_, err = db.request(w)
	require.ErrorContains(t, err, "--max-request-bytes")
}

// Ranges are compared from where to where they go, and not if they can have no keys, and few records in
// them one by one, of more the guard of deletions; beyond so many keys, and where the bytes have another order, the whole table is.
func TestRanges(t *testing.T) {
	s := NewSchema(nil)
	b := NewOrderedTable[string, int](s, "b", nil)
	ints := NewOrderedTable[int, int](s, "ints", nil)
	mine := NewOrderedTable(s, "mine", &TableOptions[int, int]{Codec: "decimal",
		EncodeKey: func(k int) ([]byte, error) { return []byte(strconv.Itoa(k)), nil },
		DecodeKey: func(b []byte) (int, error) { return strconv.Atoi(string(b)) }})
	db := &DB{cfg: Config{MaxTxnOps: 128, MaxRequestBytes: 1 << 20}, keys: keys{"p/"}, schema: s, local: s.db,
		hooks: replicate.Of(s.db)}
	defer s.db.Close()
	require.NoError(t, db.hooks.Apply(10, func(tx mvcc.DBTx) error {
		for i := range 300 {
			ints.In(tx).Set(i, i)
		}
		return nil
	}))
	all := func(seq iter.Seq2[int, int]) {
		for range seq {
		}
	}
	for name, run := range map[string]struct {
		reads func(tx mvcc.DBTx)
		want  [][2]string // from and to, "" for one key
	}{
		"both ends": {func(tx mvcc.DBTx) { mvcc.CountRange(b.In(tx), mvcc.From("c").UpTo("d")) },
			[][2]string{{"p/t/b/c", "p/t/b/d\x00"}}},
		"without the ends": {func(tx mvcc.DBTx) { mvcc.CountRange(b.In(tx), mvcc.After("c").Before("d")) },
			[][2]string{{"p/t/b/c\x00", "p/t/b/d"}}},
		"no ends": {func(tx mvcc.DBTx) { b.In(tx).Min() }, [][2]string{{"p/t/b/", "p/t/b0"}}},
		"nothing": {func(tx mvcc.DBTx) { mvcc.CountRange(b.In(tx), mvcc.Before("")) }, nil},
		"few keys": {func(tx mvcc.DBTx) { all(ints.In(tx).Ascend(mvcc.From(298))) },
			[][2]string{{"p/t/ints/\x80\x00\x00\x00\x00\x00\x01\x2a"}, {"p/t/ints/\x80\x00\x00\x00\x00\x00\x01\x2b"},
				{"p/t/ints/\x80\x00\x00\x00\x00\x00\x01\x2a", "p/t/ints0"}}},
		"with a key": {func(tx mvcc.DBTx) {
			b.In(tx).Has("x")
			mvcc.CountRange(b.In(tx), mvcc.Prefix("y"))
		}, [][2]string{{"p/t/b/x"}, {"p/t/b/y", "p/t/b/z"}}},
		"integers": {func(tx mvcc.DBTx) { all(ints.In(tx).Ascend(mvcc.From(-1).Before(256))) },
			[][2]string{{"p/t/ints/\x7f\xff\xff\xff\xff\xff\xff\xff", "p/t/ints/\x80\x00\x00\x00\x00\x00\x01\x00"},
				{"p/d/ints"}}},
		"many":          {func(tx mvcc.DBTx) { all(ints.In(tx).Ascend(mvcc.From(-1).UpTo(256))) }, [][2]string{{"p/g/ints/", "p/g/ints0"}}},
		"everything":    {func(tx mvcc.DBTx) { all(ints.In(tx).All()) }, [][2]string{{"p/g/ints/", "p/g/ints0"}}},
		"another order": {func(tx mvcc.DBTx) { mine.In(tx).Min() }, [][2]string{{"p/g/mine/", "p/g/mine0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := db.hooks.Attempt(func(tx mvcc.DBTx) error {
				run.reads(tx)
				b.In(tx).Set("written", 1)
				return nil
			})
			require.NoError(t, err)
			r, err := db.request(w)
			require.NoError(t, err)
			var got [][2]string
			for _, c := range r.cmps {
				compare := c.GetCompare()
				got = append(got, [2]string{string(compare.Key), string(compare.RangeEnd)})
			}
			require.Equal(t, run.want, got)
		})
	}
}

// keysKept encodes keys, which are in their order, and decodes them.
func keysKept[K cmp.Ordered](t *testing.T, keys ...K) keyCodec[K] {
	c, ok := keyCodecFor[K]()
	require.True(t, ok)
	last := []byte(nil)
	for i, key := range keys {
		b, err := c.encode(key)
		require.NoError(t, err)
		require.True(t, i == 0 || string(b) > string(last))
		back, err := c.decode(b)
		require.NoError(t, err)
		require.Equal(t, key, back)
		last = b
	}
	return c
}

// Keys come back as they were, in their order.
func TestKeyCodecs(t *testing.T) {
	type name string
	type small int8
	keysKept[name](t, "", "\x00", "a/b", "\xff")
	keysKept[uint16](t, 0, 1, math.MaxUint16)
	b, err := keysKept[int64](t, math.MinInt64, -1, 0, 1, math.MaxInt64).encode(200)
	require.NoError(t, err)
	smalls := keysKept[small](t, -128, 127)
	_, err = smalls.decode(b)
	require.ErrorContains(t, err, "200")
	_, err = smalls.decode([]byte("x"))
	require.ErrorContains(t, err, "want 8")
	type id [16]byte
	ids, ok := keyCodecFor[id]()
	require.True(t, ok)
	b, err = ids.encode(id{1, 15: 2})
	require.NoError(t, err)
	back, err := ids.decode(b)
	require.NoError(t, err)
	require.Equal(t, id{1, 15: 2}, back)
	_, err = ids.decode(b[1:])
	require.ErrorContains(t, err, "want 16")
	_, ok = keyCodecFor[[2]int]()
	require.False(t, ok)
	_, ok = keyCodecFor[float64]()
	require.False(t, ok)
	lossy := keyCodec[int]{name: "lossy", encode: func(int) ([]byte, error) { return []byte("x"), nil },
		decode: func([]byte) (int, error) { return 1, nil }}.checked()
	_, err = lossy.encode(1)
	require.NoError(t, err)
	_, err = lossy.encode(2)
	require.ErrorContains(t, err, "the way back")
}

// Servers that lose data are refused, and so are those of an unknown version.
func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"3.5.32": false, "3.5.33": true, "3.6.13": false, "3.6.14": true, "3.7.0": false, "3.7.1": true,
		"3.7.3": true, "3.8.0": true, "3.4.23": false, "4.0.0": false, "3.8.0-alpha.0": false, "": false,
		"3.7": false, "x.y.z": false,
	} {
		require.Equal(t, want, checkVersion("here", version) == nil, version)
	}
}

// An error says that nothing was applied only where that is so.
func TestDefinite(t *testing.T) {
	require.True(t, definite(rpctypes.ErrGRPCPermissionDenied))
	require.True(t, definite(rpctypes.ErrTooManyOps))
	require.False(t, definite(rpctypes.ErrGRPCNoSpace))
	require.False(t, definite(rpctypes.ErrGRPCTimeout))
	require.False(t, definite(nil))
}
