package workfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each shipped file is listed, is named as its file, says where it comes from, and says no more
// than it is allowed to.
func TestShipped(t *testing.T) {
	files, err := filepath.Glob("files/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(order))
	sums := map[string]bool{}
	for i, f := range Shipped() {
		require.Equal(t, order[i], f.Name)
		require.NotEmpty(t, f.Doc, f.Name)
		require.Regexp(t, `(19|20)\d\d$`, f.Source, "%s: the source and its year", f.Name)
		require.False(t, sums[f.Sum], "%s does what another does", f.Name)
		sums[f.Sum] = true
	}
	require.Nil(t, Data("no such"))
}

// The orders that TPC-C begins with are those of the customers of their districts, and the last 900
// of a district are new (4.3.3.1), for any number of warehouses.
func TestFirstOrdersOfTPCC(t *testing.T) {
	tables := map[string]*Table{}
	for _, f := range Shipped() {
		if f.Name == "tpcc" {
			for i := range f.Tables {
				tables[f.Tables[i].Name] = &f.Tables[i]
			}
		}
	}
	for keys := range int64(3) {
		vars := []int64{SlotKeys: keys + 1, SlotKey: 0}
		waiting := make([]int, vars[SlotKeys]*10)
		require.Equal(t, vars[SlotKeys]*30000, tables["orders"].Records.Eval(vars))
		for c := range tables["customer"].Records.Eval(vars) {
			vars[SlotKey] = c
			order := tables["customer_last"].Number.Eval(vars)
			vars[SlotKey] = order
			require.Equal(t, c%3000, tables["orders"].Number.Eval(vars)/16)
			waiting[c/3000] += int(tables["new_order"].Present.Eval(vars))
		}
		for _, n := range waiting {
			require.Equal(t, 900, n)
		}
	}
}

// small is a file, of which others are made.
const small = `{
  "name": "mine",
  "params": {"keys": 10, "theta": 0.5},
  "tables": {
    "a": {"records": "keys", "number": 5},
    "b": {"key": "string", "records": 3, "size": "10-20"}
  },
  "draws": {
    "k": {"table": "a"},
    "n": {"from": 1, "to": 6}
  },
  "operations": {
    "op": {
      "vars": {"x": "k", "y": {"draw": "k", "not": "x"}, "z": "x*2"},
      "steps": [
        {"get": "a", "key": "x", "as": "v"},
        {"modify": "a", "key": "y", "value": "old + v", "if": "v.found"},
        {"let": "w", "be": "v + n"}
      ]
    }
  },
  "invariants": [{"sum": "a"}, {"count": ["a", "b"], "equals": 13}]
}
`

func TestParse(t *testing.T) {
	f, err := Parse("mine.json", []byte(small))
	require.NoError(t, err)
	require.False(t, f.Plain())
	op := f.Operations[0]
	require.False(t, op.ReadOnly)
	require.Len(t, op.Vars, 4, "x, y, z and the n of the last step")
	require.Equal(t, op.Vars[0].Slot, op.Vars[1].Not)
	require.True(t, op.Steps[1].Value.Reads)
	require.False(t, op.Steps[0].Key.Reads)
	require.Equal(t, "the count of a and b equals 13", f.Invariants[1].Text)
	require.Equal(t, "the sum of a is what it was at first", f.Invariants[0].Text)

	// The sum is of what the file does.
	same, err := Parse("x", []byte(strings.Replace(small, `"mine"`, `"yours", "doc": "other"`, 1)))
	require.NoError(t, err)
	require.Equal(t, f.Sum, same.Sum)
	other, err := Parse("x", []byte(strings.Replace(small, `"records": 3`, `"records": 4`, 1)))
	require.NoError(t, err)
	require.NotEqual(t, f.Sum, other.Sum)
}

// What is wrong is told by file and line, with what was expected.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"mine"`, `"Mine"`, `mine.json:2: name: expected lower-case letters`},
		{`"mine"`, `7`, `mine.json:2: name: expected a string, not 7`},
		{`"theta": 0.5`, `"theta": 0.5, "tehta": 1`, `mine.json:3: params: unknown field "tehta"; expected some of keys, theta`},
		{`"theta": 0.5`, `"theta": 11`, `mine.json:3: theta: expected a number from 0 to 10, not 11`},
		{`"theta": 0.5`, `"keys": 4`, `mine.json:3: "keys" is there twice`},
		{`"theta": 0.5`, `"txn-size": 4`, `mine.json:3: txn-size: expected one table`},
		{`"keys": 10`, `"keys": 1.5`, `mine.json:3: keys: expected a whole number from 1 to`},
		{`"number": 5`, `"size": 7`, `mine.json:5: size: expected 0, or from 8 to`},
		{`"number": 5`, `"key": "uuid"`, `mine.json:5: table a: key: expected "int" or "string", not "uuid"`},
		{`"number": 5`, `"order": "hashed", "size": 9`, `mine.json:5: table a: order: expected "number" where`},
		{`, "number": 5`, ``, `mine.json:5: table a: expected a "number", or a "size"`},
		{`"number": 5`, `"number": "5 +"`, `mine.json:5: table a: number: expected whole numbers and names`},
		{`"number": 5`, `"number": "keys / 0"`, `mine.json:5: table a: number: expected a number above 0 after /`},
		{`"number": 5`, `"number": "f(3)"`, `mine.json:5: table a: number: expected whole numbers and names`},
		{`"number": 5`, `"number": "rows"`, `mine.json:5: table a: number: there is nothing called "rows"`},
		{`"10-20"`, `"20-10"`, `mine.json:6: size: expected 0, or from 8 to`},
		{`"10-20"`, `"value-size"`, `mine.json:6: size: expected a parameter "value-size"`},
		{`"k": {"table": "a"}`, `"k": {"table": "c"}`, `mine.json:9: draw k: table: expected a table, one of a, b, not "c"`},
		{`"k": {"table": "a"}`, `"k": {"table": "a", "theta": 1}`, `mine.json:9: draw k: expected no field "theta" by uniform`},
		{`"k": {"table": "a"}`, `"k": {"table": "a", "by": "zipf"}`, `mine.json:9: draw k: expected "theta" with by zipf`},
		{`"k": {"table": "a"}`, `"k": {"by": "latest", "theta": 1}`, `mine.json:9: draw k: expected a "table"`},
		{`"k": {"table": "a"}`, `"k": {"table": "a", "by": "gauss"}`, `mine.json:9: draw k: by: expected one of uniform`},
		{`"k": {"table": "a"}`, `"min": {"table": "a"}`, `mine.json:9: draws: expected another name than "min"`},
		{`"not": "x"`, `"not": "q"`, `mine.json:14: operation op: vars: not: expected a variable before`},
		{`"x": "k", `, ``, `mine.json:14: operation op: vars: not: expected a variable before`},
		{`"key": "x", "as"`, `"as"`, `mine.json:16: operation op, step 1: expected "key"`},
		{`{"get": "a", `, `{"fetch": "a", `, `mine.json:16: operation op, step 1: expected one of get, put`},
		{`{"get": "a", `, `{"get": "a", "put": "a", `, `mine.json:16: operation op, step 1: expected one of get and put, not both`},
		{`{"get": "a", `, `{"get": "a", "value": 3, `, `mine.json:16: operation op, step 1: unknown field "value"; expected some of key, as, get, if`},
		{`"key": "y"`, `"key": "y + q"`, `mine.json:17: operation op, step 2: key: there is nothing called "q"`},
		{`"be": "v + n"`, `"be": "later"`, `mine.json:18: operation op, step 3: be: there is nothing called "later"`},
		{`"let": "w"`, `"let": "x"`, `mine.json:18: operation op, step 3: let: expected another name than "x"`},
		{`{"sum": "a"}`, `{"sum": "b"}`, `mine.json:22: invariant 1: sum: expected a table whose records have a "number"`},
		{`{"sum": "a"}`, `{"sum": "a", "count": "a"}`, `mine.json:22: invariant 1: expected one of "sum" and "count"`},
		{`{"sum": "a"}`, `{"sum": "a", "at": "once"}`, `mine.json:22: invariant 1: at: expected "always", or "end", not "once"`},
		{`{"sum": "a"}`, `{}`, `mine.json:22: invariant 1: expected "sum" or "count"`},
		{`"op": {`, `"op": {"weight": 0,`, `expected a weight above 0`},
		{`"op": {`, `"op": {"wait": 0,`, `mine.json:13: operation op: unknown field "wait"`},
		{`"name": "mine",`, `"name": "mine"`, `mine.json:3: expected JSON`},
		{"]\n}\n", "]\n", `mine.json:23: expected JSON, an object such as`},
		{"]\n}\n", "]\n} 7", `mine.json:23: expected nothing after the object`},
		{`{
  "name"`, `[{
  "name"`, `expected JSON`},
		{`{"let": "w", "be": "v + n"}`, `{"add": "b", "key": "x"}`, `mine.json:18: operation op, step 3: expected "value"`},
		{`{"let": "w", "be": "v + n"}`, `{"range": "a", "key": "x"}`, `mine.json:18: operation op, step 3: expected "count"`},
		{`{"let": "w", "be": "v + n"}`, `{"add": "a", "key": "x", "value": 1}, {"delete": "a", "key": "x"}`,
			`mine.json:18: add: expected a table all of whose records are there`},
		{`{"let": "w", "be": "v + n"}`, `{"repeat": 3}`, `mine.json:18: operation op, step 3: expected "steps"`},
		{`{"let": "w", "be": "v + n"}`, `{"repeat": 3, "steps": [{"get": "a"}]}`,
			`mine.json:18: operation op, step 3, step 1: expected "key"`},
		{`{"let": "w", "be": "v + n"}`, `{"repeat": 3, "as": "x", "steps": [{"end": 0}]}`,
			`mine.json:18: operation op, step 3: as: expected another name than "x"`},
		{`{"let": "w", "be": "v + n"}`, `{"repeat": 3, "steps": [{"insert": "b", "key": "new"}]}`,
			`mine.json:18: operation op, step 3, step 1: key: expected a number in a repeat`},
		{`{"let": "w", "be": "v + n"}`, `{"repeat": 1, "steps": [{"repeat": 1, "steps": [{"repeat": 1, "steps":
			[{"repeat": 1, "steps": [{"end": 0}]}]}]}]}`, `expected repeats nested at most 3 deep`},
		{`"number": 5`, `"number": 5, "grows": 1`, `mine.json:5: table a: grows: expected true or false, not 1`},
		{`"records": 3`, `"records": 3, "grows": true`, `mine.json:6: table b: grows: expected keys of kind "int"`},
		{`"params"`, `"trace": {"file": "x"}, "params"`, `tables: expected none beside a trace`},
		{`"params"`, `"isolation": "none", "params"`, `mine.json:3: isolation: expected "serializable" or "snapshot"`},
	} {
		require.Equal(t, 1, strings.Count(small, c.old), c.old)
		_, err := Parse("mine.json", []byte(strings.Replace(small, c.old, c.new, 1)))
		require.ErrorContains(t, err, c.want, "%s instead of %s", c.new, c.old)
	}
}

func TestExpressions(t *testing.T) {
	vars := []int64{7, 3, 10}
	scope := func(name string) (variable, bool) {
		slots := map[string]int{"keys": 0, "key": 1, "x": 2}
		slot, ok := slots[name]
		return variable{slot: slot}, ok
	}
	for text, want := range map[string]int64{
		"x": 10, "(x)": 10, "12": 12, "1_000": 1000, "-x": -10, "x + 2*3": 16, "(x + 2)*3": 36, "x / 3": 3,
		"x % 3": 1, "x > 3": 1, "x <= 3": 0, "x == 10 && keys != 7": 0, "x == 9 || key == 3": 1, "!x": 0,
		"!0 + 1": 2, "min(x, key)": 3, "max(x, key)": 10, "x - 1 - 1": 8, "x >= 10": 1, "x < 10": 0,
		"hash(1) == hash(1)": 1, "hash(1) == hash(2)": 0, "hash(x) >= 0": 1,
	} {
		require.Equal(t, want, compile(1, "test", text, scope).Eval(vars), text)
	}
	require.Equal(t, 2, compile(1, "test", "x", scope).Slot)
	require.Equal(t, -1, compile(1, "test", "x+0", scope).Slot)
	for _, x := range []uint64{0, 1, 2, 1 << 40, 1<<64 - 1} {
		require.Equal(t, x, Unhash(Hash(x)))
	}
}

// A draw that a step names is drawn once for it, and a variable once for all steps.
func TestDrawsAreDrawnOnce(t *testing.T) {
	f, err := Parse("mine.json", Data("ycsb-a"))
	require.NoError(t, err)
	require.Len(t, f.Operations[0].Vars, 1)
	require.True(t, f.Plain())
	f, err = Parse("mine.json", Data("smallbank"))
	require.NoError(t, err)
	require.Len(t, f.Operations[1].Vars, 2, "customer and amount")
}

// Files that no engine could run otherwise are not plain.
func TestPlain(t *testing.T) {
	const plain = `{"name": "p", "tables": {"t": {"key": "string", "records": 9, "size": 8}},
		"draws": {"k": {"table": "t"}, "l": {"table": "t", "by": "latest", "theta": 1}},
		"operations": {"o": {"steps": [{"get": "t", "key": "k"}]}}}`
	for _, c := range []struct {
		old, new string
		plain    bool
	}{
		{"", "", true},
		{`"string"`, `"int"`, false},
		{`"size": 8`, `"size": 8, "number": 1`, false},
		{`"size": 8`, `"size": 8, "present": 1`, false},
		{`"key": "k"}`, `"key": "k", "as": "x"}`, false},
		{`"key": "k"}`, `"key": "k", "if": 1}`, false},
		{`"get"`, `"delete"`, false},
		{`"get"`, `"insert"`, false},
		{`"get"`, `"modify"`, true},
		{`"get": "t", "key": "k"`, `"modify": "t", "key": "l"`, false},
		{`"get": "t", "key": "k"`, `"get": "t", "key": "l"`, true},
		{`"get": "t", "key": "k"`, `"insert": "t", "key": "new"`, true},
		{`"get": "t", "key": "k"`, `"range": "t", "key": "k", "count": 3`, true},
		{`"get": "t", "key": "k"`, `"range": "t", "key": "l", "count": 3`, false},
		{`{"get": "t", "key": "k"}`, `{"get": "t", "key": "k"}, {"get": "t", "key": "k"}`, true},
	} {
		f, err := Parse("p", []byte(strings.Replace(plain, c.old, c.new, 1)))
		require.NoError(t, err, c.new)
		require.Equal(t, c.plain, f.Plain(), c.new)
	}
}

// Whatever is in a file, parsing ends with a workload, or an error that says where.
func FuzzParse(f *testing.F) {
	for _, name := range order {
		f.Add(Data(name))
	}
	f.Add([]byte(small))
	f.Add([]byte(`{"name": "t", "trace": {"file": "x", "split": "order"}}`))
	if doc, err := os.ReadFile("../../docs/workloads.md"); err == nil {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("x", data)
		if err != nil {
			require.Regexp(t, `^x:\d+: `, err.Error())
			return
		}
		require.NotEmpty(t, file.Name)
		file.Plain()
		for _, op := range file.Operations {
			vars := make([]int64, op.Slots)
			for _, v := range op.Vars {
				require.Less(t, v.Slot, op.Slots)
				if v.Expr != nil {
					v.Expr.Eval(vars)
				}
			}
			op.Each(func(s *Step) {
				for _, v := range s.Vars {
					require.Less(t, v.Slot, op.Slots)
				}
				for _, e := range []*Expr{s.Key, s.Value, s.Count, s.If} {
					if e != nil {
						e.Eval(vars)
					}
				}
			})
		}
	})
}
