package mvcc

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Programs of a few transactions that are open at the same time, run by one goroutine on a map in
// which x and y are 10. They are written as in the literature on isolation:
//
//	b1 r1(x)10 w1(x)- w(y)5 p c1!y/ok r(*)x10,y5/y5
//
// Transaction 1 begins; it reads x, finds 10, and deletes it; an operation sets y; the map is
// pruned; 1 commits, which at level serializable is a conflict over y, and at level snapshot is
// none; then there is x = 10 and y = 5, or at level snapshot y = 5 alone. The steps are:
//
//	b1        begins at the level of the run, b1:ser and b1:snap at that one; bs opens a reader
//	r1(x)10   reads x; r1(n)- finds nothing; r1(*)x10,y10 reads all, r1(.) begins to
//	o1(x)     loops over all until it meets x, and stops there; f1(*)x10,y10 goes on: it met these
//	w1(x)5    sets x, w1(x)- deletes it
//	c1        commits, or closes a reader; c1!x is refused over x, c1!*x over a scan in which x
//	          was met, c1! and c1!* over any key; c1!ok/x at level snapshot alone
//	a1        rolls back
//	w(x)5     is an operation on the map, r(x)5 all those that read; r(*), o(x) and f(*) as above
//	p         prunes; q visits waiting keys, until open transactions are old
//
// A number is a transaction, a letter a reader. A program runs at both levels, with each
// operation that writes, and with each reader: a transaction of either level, a Snapshot, a
// View.
var aStep = regexp.MustCompile(`^([a-z])([1-9a-z]?)(?:\(([^)]+)\)|:(\w+)|!)?(.*)$`)

// A play is a run of a program.
type play struct {
	*testing.T
	m       *Map[string, int]
	level   *TxOptions
	way     int // of operations that write
	reading reading
	txs     map[string]Tx[string, int]
	readers map[string]Reader[string, int]
	ends    map[string]func()
	loops   map[string]*loop
}

// A loop is one that stands.
type loop struct {
	next func() (string, int, bool)
	met  map[string]int
}

// A reading is a way to read several keys as of one moment.
type reading struct {
	name string
	open func(t testing.TB, m *Map[string, int]) (r Reader[string, int], end func())
}

var readings = []reading{
	{"serializable", reads(serializable)},
	{"snapshot", reads(snapshot)},
	{"Snapshot", func(_ testing.TB, m *Map[string, int]) (Reader[string, int], func()) {
		s := m.Snapshot()
		return s, s.Close
	}},
	{"View", func(t testing.TB, m *Map[string, int]) (Reader[string, int], func()) {
		given, done, err := make(chan Snapshot[string, int]), make(chan struct{}), make(chan error, 1)
		go func() {
			err <- m.View(func(s Snapshot[string, int]) error { given <- s; <-done; return nil })
		}()
		return <-given, func() { close(done); require.NoError(t, <-err) }
	}},
}

func reads(level *TxOptions) func(testing.TB, *Map[string, int]) (Reader[string, int], func()) {
	return func(t testing.TB, m *Map[string, int]) (Reader[string, int], func()) {
		tx := m.Begin(level)
		return tx, func() { require.NoError(t, tx.Commit(), "it wrote nothing, and conflicts") }
	}
}

// atLevels runs a test at both levels, on a map with x = y = 10.
func atLevels(t *testing.T, f func(t *testing.T, m *Map[string, int], opts *TxOptions)) {
	for _, opts := range levels {
		t.Run(opts.Isolation.String(), func(t *testing.T) {
			m := newMap[string, int](t, nil)
			m.Store("x", 10)
			m.Store("y", 10)
			f(t, m, opts)
			checkQuiet(t, m)
		})
	}
}

// runAll runs programs in all ways.
func runAll(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		ways, kinds := 1, readings[:1]
		if strings.Contains(program, " w(") {
			ways = 4
		}
		if strings.Contains(program, "bs") {
			kinds = readings
		}
		for way := range ways {
			for _, kind := range kinds {
				t.Run(fmt.Sprint(program, "/", way, kind.name), func(t *testing.T) {
					atLevels(t, func(t *testing.T, m *Map[string, int], level *TxOptions) {
						p := &play{T: t, m: m, level: level, way: way, reading: kind,
							txs: map[string]Tx[string, int]{}, readers: map[string]Reader[string, int]{},
							ends: map[string]func(){}, loops: map[string]*loop{}}
						for _, s := range strings.Fields(program) {
							p.step(aStep.FindStringSubmatch(s))
						}
					})
				})
			}
		}
	}
}

func (p *play) step(s []string) {
	op, who, key, level, result := s[1], s[2], s[3], s[4], s[5]
	if is := strings.Split(result, "/"); len(is) == 2 {
		result = is[map[*TxOptions]int{serializable: 0, snapshot: 1}[p.level]]
	}
	value, absent := 0, result == "-"
	if op == "w" && !absent {
		var err error
		value, err = strconv.Atoi(result)
		require.NoError(p, err)
	}
	switch op + map[bool]string{true: " alone"}[who == ""] {
	case "b":
		if who >= "a" {
			p.readers[who], p.ends[who] = p.reading.open(p, p.m)
			return
		}
		at := map[string]*TxOptions{"": p.level, "ser": serializable, "snap": snapshot}[level]
		p.txs[who] = p.m.Begin(at)
		p.readers[who] = p.txs[who]
	case "r":
		p.read(p.readers[who], key, result)
	case "r alone":
		p.readNow(key, result)
	case "o", "o alone":
		all := p.m.All()
		if who != "" {
			all = p.readers[who].All()
		}
		next, _ := iter.Pull2(all)
		l := &loop{next, map[string]int{}}
		for found := false; !found; _, found = l.met[key] {
			require.True(p, l.step(), "%s is not met", key)
		}
		p.loops[who] = l
	case "f", "f alone":
		for p.loops[who].step() {
			continue
		}
		require.Equal(p, wanted(p, result), p.loops[who].met)
	case "w":
		if absent {
			p.txs[who].Delete(key)
		} else {
			p.txs[who].Set(key, value)
		}
	case "w alone":
		p.write(key, value, absent)
	case "c":
		if who >= "a" {
			p.ends[who]()
			return
		}
		p.commit(p.txs[who], strings.Contains(s[0], "!") && result != "ok", result)
	case "a":
		p.txs[who].Rollback()
	case "p alone":
		prune(p.m)
	case "q alone":
		reclaim(p, p.m, 5)
	default:
		require.Fail(p, "no such step", s[0])
	}
}

func (l *loop) step() bool {
	key, value, ok := l.next()
	if ok {
		l.met[key] = value
	}
	return ok
}

// wanted returns the records of a list of keys with values.
func wanted(t testing.TB, list string) map[string]int {
	t.Helper()
	all := map[string]int{}
	if list == "" {
		return all
	}
	for _, entry := range strings.Split(list, ",") {
		at := strings.IndexAny(entry, "0123456789")
		require.Positive(t, at, entry)
		value, err := strconv.Atoi(entry[at:])
		require.NoError(t, err)
		all[entry[:at]] = value
	}
	return all
}

func (p *play) read(r Reader[string, int], key, result string) {
	p.Helper()
	switch {
	case key == ".":
		for range r.All() {
			break
		}
	case key == "*":
		want := wanted(p, result)
		require.Equal(p, want, maps.Collect(r.All()))
		for key, value := range want {
			requireValue(p.T, value)(r.Get(key))
		}
	case result == "-":
		requireAbsent[int](p)(r.Get(key))
	default:
		requireValue(p.T, wanted(p, "_"+result)["_"])(r.Get(key))
	}
}

// readNow checks the result at this moment of every operation that reads; none of them writes.
func (p *play) readNow(key, result string) {
	p.Helper()
	at := p.m.Stats().Epoch
	for _, kind := range readings {
		r, end := kind.open(p, p.m)
		p.read(r, key, result)
		end()
	}
	switch {
	case key == "*":
		met := map[string]int{}
		p.m.Range(func(key string, value int) bool { met[key] = value; return true })
		require.Equal(p, wanted(p, result), met, "Range")
	case result == "-":
		requireAbsent[int](p)(p.m.Load(key))
		requireAbsent[int](p)(p.m.LoadAndDelete(key))
		require.False(p, CompareAndSwap(p.m, key, 0, -1))
		p.m.Delete(key)
	default:
		value := wanted(p, "_"+result)["_"]
		requireValue(p.T, value)(p.m.Load(key))
		requireValue(p.T, value)(p.m.LoadOrStore(key, -1))
		require.False(p, CompareAndSwap(p.m, key, value+1, -1))
	}
	require.Equal(p, at, p.m.Stats().Epoch, "an epoch was drawn")
}

// write sets or deletes a key by one operation, or two.
func (p *play) write(key string, value int, del bool) {
	p.Helper()
	old, there := p.m.Load(key)
	got, ok := old, there
	switch {
	case del && p.way%2 == 0:
		p.m.Delete(key)
	case del:
		got, ok = p.m.LoadAndDelete(key)
	case p.way == 0:
		p.m.Store(key, value)
	case p.way == 1:
		got, ok = p.m.Swap(key, value)
	case p.way == 2 && there:
		require.True(p, CompareAndSwap(p.m, key, old, value))
	default:
		if there {
			got, ok = p.m.LoadAndDelete(key)
		}
		actual, loaded := p.m.LoadOrStore(key, value)
		require.False(p, loaded)
		require.Equal(p, value, actual)
	}
	require.Equal(p, there, ok)
	require.Equal(p, old, got)
}

// commit commits; if it is to be refused, over has the key of the conflict.
func (p *play) commit(tx Tx[string, int], refused bool, over string) {
	p.Helper()
	at := stateOf(tx.st).level
	err := tx.Commit()
	if !refused {
		require.NoError(p, err)
		return
	}
	require.ErrorIs(p, err, ErrConflict)
	var c *ConflictError
	require.ErrorAs(p, err, &c)
	over, scan := strings.CutPrefix(over, "*")
	if scan {
		require.Equal(p, ConflictScan, c.Kind)
	}
	if over == "" {
		return
	}
	require.Equal(p, over, c.Key)
	require.Contains(p, c.Error(), over)
	if !scan {
		require.Equal(p, map[Level]ConflictKind{LevelSerializable: ConflictRead,
			LevelSnapshot: ConflictWrite}[at], c.Kind)
	}
}
