package dump

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

var codecs = []durable.Codec{durable.Gob, durable.JSON}

// call runs mvccdump.
func call(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(context.Background(), args, &out, &errs)
	return out.String(), errs.String(), code
}

// lines runs mvccdump, which must end well, and returns its lines.
func lines(t testing.TB, args ...string) (list []string) {
	t.Helper()
	stdout, stderr, code := call(t, args...)
	require.Equal(t, ExitOK, code, stderr)
	for line := range strings.Lines(stdout) {
		list = append(list, strings.TrimSuffix(line, "\n"))
	}
	return list
}

type spot struct{ X, Y int }

// A person has fields that are not easy to print, or to copy.
type person struct {
	Name    string
	Age     *int
	Tags    []string
	ByName  map[string][]int
	Partner *person
}

// A world is a database with tables of many types.
type world struct {
	*mvcc.DB
	people  *mvcc.Map[string, person]
	numbers *mvcc.Map[int, int]
	set     *mvcc.Map[spot, struct{}]
	ptrs    *mvcc.Map[uint8, *person]
	tmp     *mvcc.Map[int, string]
}

const oddName = "odd \xff\"name"

func newWorld(t testing.TB) *world {
	db := mvcc.NewDB(nil)
	t.Cleanup(db.Close)
	return &world{DB: db,
		people:  mvcc.NewTable[string, person](db, oddName, nil),
		numbers: mvcc.NewOrderedTable[int, int](db, "numbers", nil),
		set:     mvcc.NewTable[spot, struct{}](db, "set", nil),
		ptrs:    mvcc.NewTable[uint8, *person](db, "ptrs", nil),
		tmp:     mvcc.NewTable[int, string](db, "tmp", nil),
	}
}

func aPerson(rng *rand.Rand, depth int) person {
	p := person{Name: fmt.Sprint("<p", rng.IntN(100), ">")}
	if rng.IntN(2) == 0 {
		age := rng.IntN(3)
		p.Age = &age
	}
	switch rng.IntN(3) {
	case 0:
		p.Tags = []string{}
	case 1:
		p.Tags = []string{"a", ""}
	}
	if rng.IntN(3) == 0 {
		p.ByName = map[string][]int{"x": {}, "y": nil, "z": {1, 2}}
	}
	if rng.IntN(2) == 0 && depth < 3 {
		partner := aPerson(rng, depth+1)
		p.Partner = &partner
	}
	return p
}

// change makes a random commit over some tables.
func (w *world) change(t testing.TB, rng *rand.Rand) {
	require.NoError(t, w.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		for range 1 + rng.IntN(3) {
			k := rng.IntN(20)
			switch rng.IntN(7) {
			case 0:
				w.people.In(tx).Set(fmt.Sprint("k", k, "\n"), aPerson(rng, 0))
			case 1:
				w.people.In(tx).Delete(fmt.Sprint("k", k, "\n"))
			case 2:
				w.numbers.In(tx).Set(k-10, rng.IntN(3))
			case 3:
				w.numbers.In(tx).Delete(k - 10)
			case 4:
				if x := (spot{k, -k}); rng.IntN(2) == 0 {
					w.set.In(tx).Set(x, struct{}{})
				} else {
					w.set.In(tx).Delete(x)
				}
			case 5:
				p := aPerson(rng, 0)
				w.ptrs.In(tx).Set(uint8(k), &p)
			case 6:
				w.ptrs.In(tx).Set(uint8(k), nil)
			}
		}
		return nil
	}))
	if rng.IntN(10) == 0 && w.tmp != nil { // made again, or not
		w.tmp.Close()
		if w.tmp = nil; rng.IntN(5) > 0 {
			w.tmp = mvcc.NewTable[int, string](w.DB, "tmp", nil)
		}
	}
	if w.tmp != nil {
		w.tmp.Store(rng.IntN(5), fmt.Sprint(rng.IntN(100)))
	}
}

// printed returns the lines that dump should print, sorted.
func (w *world) printed(t testing.TB) (list []string) {
	list = printedOf(t, list, `{"base64":"b2RkIP8ibmFtZQ=="}`, w.people)
	list = printedOf(t, list, `"numbers"`, w.numbers)
	list = printedOf(t, list, `"set"`, w.set)
	list = printedOf(t, list, `"ptrs"`, w.ptrs)
	if w.tmp != nil {
		list = printedOf(t, list, `"tmp"`, w.tmp)
	}
	slices.Sort(list)
	return list
}

func printedOf[K comparable, V any](
	t testing.TB, to []string, name string, m *mvcc.Map[K, V],
) []string {
	for k, v := range m.All() {
		line := fmt.Sprintf(`{"table":%s,"key":%s,"value":%s}`, name, asJSON(t, k), asJSON(t, v))
		to = append(to, normal(t, line))
	}
	return to
}

func asJSON(t testing.TB, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// normal makes lines that mean the same the same: in keys and values it leaves out members of
// objects that are zero, as gob does, or have no others.
func normal(t testing.TB, line string) string {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var v map[string]any
	require.NoError(t, d.Decode(&v), line)
	for name, of := range v {
		v[name] = sparse(of)
	}
	return asJSON(t, v)
}

func sparse(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = sparse(v[i])
		}
	case map[string]any:
		for name, of := range v {
			v[name] = sparse(of)
			switch fmt.Sprint(v[name]) {
			case "<nil>", "0", "", "false", "[]", "map[]", "0001-01-01T00:00:00Z":
				delete(v, name)
			}
		}
	}
	return v
}

// normalOf makes lines normal, and sorts them.
func normalOf(t testing.TB, list []string) (out []string) {
	for _, line := range list {
		out = append(out, normal(t, line))
	}
	slices.Sort(out)
	return out
}

// lived returns the folder of a journal with so many random commits.
func lived(t testing.TB, c durable.Codec, seed uint64, commits int) (string, *world) {
	dir, w := filepath.Join(t.TempDir(), "data"), newWorld(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range rng.IntN(10) {
		w.change(t, rng)
	}
	j, err := durable.Open(t.Context(), w.DB, dir, &durable.Options{Codec: c})
	require.NoError(t, err)
	for range commits {
		w.change(t, rng)
		if rng.IntN(3) == 0 {
			require.NoError(t, j.Sync(t.Context()))
		}
	}
	require.NoError(t, j.Close())
	return dir, w
}

// imageOf returns all files of a folder.
func imageOf(t testing.TB, dir string) map[string]string {
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(data)
	}
	return files
}
