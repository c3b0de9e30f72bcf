package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func traceFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// someTrace has gets, puts of several sizes, and deletes, of so many keys.
func someTrace(keys int) string {
	var b strings.Builder
	b.WriteString("# a trace\n")
	for i := range 10 * keys {
		switch k := (i*7 + i/10*3) % keys; i % 10 {
		case 0, 1, 2:
			fmt.Fprintf(&b, "put user:%d %d\n", k, 8+i%50)
		case 3:
			fmt.Fprintf(&b, "delete user:%d\n", k)
		default:
			fmt.Fprintf(&b, "get user:%d\n", k)
		}
	}
	return b.String()
}

// A trace is repeated on every engine, by key and in order, and from its beginning again.
func TestReplay(t *testing.T) {
	file := traceFile(t, "Web 7.trace", someTrace(40))
	inOrder := traceFile(t, "a.json", fmt.Sprintf(`{"name": "ordered", "trace": {"file": %q, "split": "order"}}`,
		file))
	for _, name := range []string{file, inOrder} {
		w, err := ReadWorkload(name)
		require.NoError(t, err)
		require.Equal(t, ValueSize{8, 100}, w.valueSize())
		for _, e := range Engines() {
			_, ok := e.Runs(w)
			require.True(t, ok, e.Name)
			for _, threads := range []int{1, 3} {
				tr := newTrial(t, Config{Workload: w, Engine: e, Threads: threads, Seed: 1})
				m := runOps(t, tr, 3_000)
				require.EqualValues(t, 3_000, m.Ops)
				require.Len(t, m.Operations, 3)
				require.Equal(t, "put", m.Operations[0].Name)
				require.InDelta(t, 900, m.Operations[0].Ops, 10)
				require.NoError(t, tr.Verify(), e.Name)
			}
		}
	}
	w, err := ReadWorkload(file)
	require.NoError(t, err)
	require.Equal(t, "trace-web-7", w.Name)
	e, _ := EngineByName("mvcc")
	_, err = New(Config{Workload: w, Engine: e, Threads: 41})
	require.ErrorContains(t, err, "trace-web-7 has 40 keys, each of which one goroutine has; expected at most")
}

// The operations are done in the order of the trace, with its sizes.
func TestReplayIsFaithful(t *testing.T) {
	w, err := ReadWorkload(traceFile(t, "a.csv", "timestamp,key,size,op\n1,a,30,set\n2,b,9,SET\n"+
		"3,a,0,get\n4,c,12,get\n5,b,0,delete\n6,a,1,put\n"))
	require.NoError(t, err)
	var did []string
	spec := EngineSpec{Name: "noting", OneKey: true, New: nil}
	spec.New = func(Setup[uint64]) (Engine[uint64], error) { return nil, nil }
	spec.NewBytes = tamper(func(s *tampered[[]byte], worker int) {
		if worker < 0 {
			return
		}
		s.get = func(key string) ([]byte, bool, error) {
			v, ok, err := s.rwMutex.Get(key)
			did = append(did, fmt.Sprintf("get %s %d", key, len(v)))
			return v, ok, err
		}
		s.put = func(key string, v []byte) error {
			did = append(did, fmt.Sprintf("put %s %d", key, len(v)))
			return s.rwMutex.Put(key, v)
		}
		s.batch = func(ops []Op[[]byte], readOnly bool) error {
			did = append(did, "delete "+ops[0].Key)
			return s.rwMutex.Batch(ops, readOnly)
		}
	})
	tr := newTrial(t, Config{Workload: w, Engine: spec, Threads: 1})
	runOps(t, tr, 7)
	require.NoError(t, tr.Verify())
	require.Equal(t, []string{"put a 30", "put b 9", "get a 30", "get c 0", "delete b", "put a 8", "put a 30"},
		did, "a value that says who wrote it has 8 bytes")
}

func TestFaultsUnderReplay(t *testing.T) {
	w, err := ReadWorkload(traceFile(t, "a.trace", someTrace(30)))
	require.NoError(t, err)
	for fault, with := range map[string]func(s *tampered[[]byte]){
		"loses a write": func(s *tampered[[]byte]) {
			bad := every(100)
			s.put = func(key string, v []byte) error {
				if bad() {
					return nil
				}
				return s.rwMutex.Put(key, v)
			}
		},
		"does not delete": func(s *tampered[[]byte]) {
			s.batch = func([]Op[[]byte], bool) error { return nil }
		},
		"cuts values": func(s *tampered[[]byte]) {
			s.get = func(key string) ([]byte, bool, error) {
				v, ok, err := s.rwMutex.Get(key)
				return v[:max(len(v)-1, 0)], ok, err
			}
		},
	} {
		_, spec := named(t, "balanced", "rwmutex")
		spec.NewBytes = tamper(func(s *tampered[[]byte], worker int) {
			if worker >= 0 {
				with(s)
			}
		})
		requireCaught(t, fault, Config{Workload: w, Engine: spec, Threads: 2, Seed: 1})
	}
}

// Lines that are no operations are told by number.
func TestBadTraces(t *testing.T) {
	for text, want := range map[string]string{
		"":                           `a.trace:1: expected "get KEY"`,
		"get a\nfetch b\n":           `a.trace:2: expected "get KEY", "put KEY SIZE" or "delete KEY", or timestamp,key,size,op, not "fetch b"`,
		"put a -1":                   "a.trace:1: expected a size from 0 to 1048576 bytes, not \"-1\"",
		"put a 9 9":                  "a.trace:1: expected",
		"# head\n\nput":              "a.trace:3: expected",
		"1,a,3":                      "a.trace:1: expected",
		"1,a,3,get\n1,b,3,get,4,5,6": "a.trace:2: expected",
		"get \xff":                   "a.trace:1: expected",
	} {
		_, err := ReadWorkload(traceFile(t, "a.trace", text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := ReadWorkload(traceFile(t, "a.json", `{"name": "t", "trace": {"file": "no such"}}`))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzTrace(f *testing.F) {
	f.Add(someTrace(3))
	f.Add("op,key\n1,a,30,set\n")
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := parseTrace("x", strings.NewReader(text))
		if err != nil {
			require.Regexp(t, `^x:\d+: `, err.Error())
			return
		}
		for _, op := range tr.ops {
			require.Less(t, int(op.key), len(tr.keys))
			require.LessOrEqual(t, int(op.size), MaxValueSize)
		}
	})
}
