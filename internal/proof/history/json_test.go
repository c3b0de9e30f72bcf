package history

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestReadForeign(t *testing.T) {
	const start = `{"format":"mvccmap-history","version":2,"kind":"append","txs":1}` + "\n"
	const tx = `{"id":1,"process":0,"level":"one-key","status":"committed","begin":1,"end":2,"ops":[`
	for _, test := range []struct{ in, want string }{
		{"", "not a history"},
		{"hello\n", "not a history"},
		{`{"format":"other","version":2}`, "not a history"},
		{`[1]`, "not a history"},
		{strings.Replace(start, "2", "1", 1), "version 1, want 2"},
		{strings.Replace(start, "append", "queue", 1), `unknown kind "queue"`},
		{start + "{\n", "line 2: "},
		{start + "[]\n", "line 2: "},
		{start + `{"id":1,"color":"red"}`, `line 2: json: unknown field "color"`},
		{start + `{"id":1}`, `line 2: unknown level ""`},
		{start + `{"id":1,"level":"serializable","status":"fine"}`, `line 2: unknown status "fine"`},
		{start + strings.Replace(tx, `"begin":1`, `"begin":3`, 1) + "]}",
			"line 2: it ended at 2, before it began at 3"},
		{start + tx + "]}\n" + tx + "]}\n", "line 3: there is another transaction 1"},
		{start + tx + `{"f":"write","k":1,"v":2}]}`,
			`line 2: "write" is no operation of append histories`},
		{start, "0 transactions instead of 1"},
		{strings.Replace(start, "append", "onekey", 1) + strings.Replace(tx, "one-key", "snapshot", 1) +
			"]}", "snapshot level"},
	} {
		_, err := Read(strings.NewReader(test.in))
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, "history: ")
	}
	failure := errors.New("disk on fire")
	_, err := Read(iotest.ErrReader(failure))
	require.ErrorIs(t, err, failure)
	require.ErrorIs(t, appends(Tx{}).Write(fullDisk{failure}), failure)
}

type fullDisk struct{ err error }

func (d fullDisk) Write([]byte) (int, error) { return 0, d.err }
