package history

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
)

func diff(a, b *History) string { return cmp.Diff(a, b, cmpopts.EquateEmpty()) }

func TestWriteRead(t *testing.T) {
	for seed := range uint64(runs(50)) {
		for _, kind := range []Kind{KindAppend, KindRegister} {
			s := randomSim(rand.New(rand.NewPCG(seed, 3)), kind)
			s.txs, s.fault = 20, 10
			h := s.run()
			h.Txs[0].Epoch, h.Txs[0].Commit = 7, 1<<63+1
			var b bytes.Buffer
			require.NoError(t, h.Write(&b))
			got, err := Read(&b)
			require.NoError(t, err)
			require.Empty(t, diff(h, got))
		}
	}
}

const header = `{"format":"mvccmap-history","version":1,"kind":"append"}` + "\n"

func TestReadForeign(t *testing.T) {
	const tx = `{"id":1,"process":0,"level":"one-key","status":"committed","begin":1,"end":2,"ops":[`
	register := strings.Replace(header, "append", "register", 1)
	for _, test := range []struct{ in, want string }{
		{"", "the input is empty"},
		{"\n", "line 1: not a history"},
		{"hello\n", "line 1: not a history"},
		{`{"format":"other","version":1}`, "line 1: not a history"},
		{`[1]`, "line 1: not a history"},
		{`{"format":"mvccmap-history","version":2,"kind":"append"}`, "line 1: version 2, want 1"},
		{`{"format":"mvccmap-history","version":1,"kind":"queue"}`, `line 1: unknown kind "queue"`},
		{header + "\n{\n", "line 3: "},
		{header + "[]\n", "line 2: "},
		{header + `{"id":1,"color":"red"}`, `line 2: json: unknown field "color"`},
		{header + `{"id":1}`, `line 2: unknown level ""`},
		{header + `{"id":1,"level":"serializable","status":"fine"}`, `line 2: unknown status "fine"`},
		{header + `{"id":1,"level":"serializable","status":"aborted","begin":2,"end":1}`, "line 2: it ended at 1, before it began at 2"},
		{header + tx + "]}\n" + tx + "]}\n", "line 3: there is another transaction 1"},
		{header + tx + "]} {}\n", "line 2: more than one value"},
		{header + tx + `{"f":"write","k":1,"v":2}]}`, `line 2: operation 1: "write" is no operation of append histories`},
		{register + tx + `{"f":"append","k":1,"v":2}]}`, `line 2: operation 1: "append" is no operation of register histories`},
		{header + tx + `{"f":"append","k":1}]}`, "line 2: operation 1: append of key 1: no value"},
		{register + tx + `{"f":"delete","k":1,"v":2}]}`, "line 2: operation 1: a delete of register histories has no value"},
		{register + tx + `{"f":"read","k":1,"l":[2]}]}`, "line 2: operation 1: a read of register histories has no list"},
		{header + tx + `{"f":"read","k":1,"v":2}]}`, "line 2: operation 1: a read of append histories has no value"},
		{header + tx + `{"f":"read","k":1,"l":[1e99]}]}`, "line 2: "},
		{header + `{"id":` + strings.Repeat("1", 1000) + "}\n", "a line is longer than 1000 bytes"},
	} {
		h, err := readLimited(strings.NewReader(test.in), 1000)
		require.Nil(t, h)
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, "history: ")
	}
	failure := errors.New("disk on fire")
	_, err := Read(iotest.ErrReader(failure))
	require.ErrorIs(t, err, failure)
	_, err = Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(header + tx))))
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.ErrorIs(t, lists(Tx{}).Write(fullDisk{failure}), failure)
}

type fullDisk struct{ err error }

func (d fullDisk) Write([]byte) (int, error) { return 0, d.err }

// FuzzRead: whatever the input, Read does not panic, what it accepts it can write
// and read again, and Check comes to an end.
func FuzzRead(f *testing.F) {
	for seed := range uint64(4) {
		for _, kind := range []Kind{KindAppend, KindRegister} {
			s := randomSim(rand.New(rand.NewPCG(seed, 4)), kind)
			s.fault = 30
			var b bytes.Buffer
			require.NoError(f, s.run().Write(&b))
			f.Add(b.Bytes())
		}
	}
	f.Add([]byte(header))
	f.Add([]byte(header + `{"id":1,"level":"snapshot","status":"unknown","ops":[{"f":"read","k":1,"l":[1,1]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := Read(bytes.NewReader(in))
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, h.Write(&b))
		again, err := Read(&b)
		require.NoError(t, err)
		require.Empty(t, diff(h, again))
		for _, o := range []Options{{}, {Promise: Snapshot, Epochs: true, Opacity: true}} {
			r := CheckWith(h, o)
			require.NotEmpty(t, r.String())
			if len(h.Txs) <= 5 && bruteForce(h, Options{Promise: o.Promise, Opacity: o.Opacity}) && !o.Epochs && !hasDuplicates(h) {
				require.True(t, r.OK(), "%v", r)
			}
		}
	})
}

// hasDuplicates reports whether some value is written twice: such a history is
// not accepted even if an order explains it.
func hasDuplicates(h *History) bool {
	seen := map[[2]int]bool{}
	for _, tx := range h.Txs {
		for _, op := range tx.Ops {
			if op.Kind == OpAppend || op.Kind == OpWrite {
				at := [2]int{op.Key, op.Value}
				if seen[at] {
					return true
				}
				seen[at] = true
			}
		}
	}
	return false
}
