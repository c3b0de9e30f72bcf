package mvcc

import (
	"slices"
	"testing"
)

// A tape is the code of a fuzz test: each choice takes one byte.
type tape struct {
	code []byte
	at   int
}

// choose returns a number from 0 to n-1; 0 once the tape has ended.
func (c *tape) choose(n int, _ string) int {
	if c.ended() {
		return 0
	}
	c.at++
	return int(c.code[c.at-1]) % n
}

func (c *tape) ended() bool { return c.at >= len(c.code) }

// maxProgram bounds the time that one program takes.
const maxProgram = 300

// runCode runs the program that c says over one type of keys and of values.
func runCode[K, V comparable](t *testing.T, c *tape, key func(int) K, value func(int) V) {
	p := newProgram(t, t, c.choose, key, value)
	defer p.m.Close()
	actions := p.actions()
	for step := 0; step < maxProgram && !c.ended(); step++ {
		if a := actions[c.choose(len(actions), "action")]; a.ready() {
			a.run()
			p.checkStats()
		}
	}
	p.finish()
}

// programCode returns the code of a program over integers: steps by name, each with
// what it chooses. There is no background work, and there are three keys.
func programCode(t testing.TB, steps ...any) []byte {
	t.Helper()
	names := (&program[int, int]{}).actions()
	code := []byte{0, 0, 0, 15, 0, 0, 2} // types, workers, queue, threshold, capacity, level, keys
	for _, step := range steps {
		switch step := step.(type) {
		case int:
			code = append(code, byte(step))
		case string:
			i := slices.IndexFunc(names, func(a action) bool { return a.name == step })
			if i < 0 {
				t.Fatalf("no action is called %q", step)
			}
			code = append(code, byte(i))
		}
	}
	return code
}

// FuzzProgram runs the program that the bytes say, and compares each result with
// the oracle.
func FuzzProgram(f *testing.F) {
	add := func(steps ...any) { f.Add(programCode(f, steps...)) }
	// Begin chooses a level: 0 is serializable, 1 snapshot. What an action of an
	// open transaction chooses first is which one.
	const begin, get, set, commit = "Begin", "Get", "Set", "Commit"
	for level := range 2 {
		add("Store", 0, "Store", 1, begin, level, begin, level, // write skew
			get, 0, 0, get, 1, 1, set, 0, 1, set, 1, 0, commit, 0, commit, 0)
		add("Store", 0, begin, level, begin, level, // lost update
			get, 0, 0, get, 1, 0, set, 0, 0, set, 1, 0, commit, 0, commit, 0)
		add("Store", 0, begin, level, "All", 0, "Store", 1, set, 0, 0, "Err", 0, commit, 0) // phantom
		// absent, then inserted
		add(begin, level, get, 0, 2, set, 0, 0, "Store", 2, commit, 0)
		// and deleted again
		add(begin, level, get, 0, 2, "Store", 2, "LoadAndDelete", 2, set, 0, 0, commit, 0)
		// delete and re-create
		add("Store", 0, begin, level, get, 0, 0, "LoadAndDelete", 0, "prune", "Store", 0,
			set, 0, 1, commit, 0)
	}
	// prune under a reader
	add("Store", 0, "Snapshot", "overwrite", 0, 20, "prune", get, 0, 0, "Snapshot",
		"overwrite", 0, 20, "prune", "Close of a snapshot", 0, "prune", get, 0, 0)
	add("Store", 0, "Snapshot", "LoadAndDelete", 0, "prune", get, 0, 0, "Snapshot", // tombstones
		"Store", 0, "prune", get, 1, 0, "Close of a snapshot", 0, "prune", "Close of a snapshot", 0,
		"LoadAndDelete", 0, "prune")
	// a tombstone on nothing
	add(begin, 0, "Delete", 0, 0, commit, 0, "prune", "Load", 0)
	// an entry of a failed commit
	add(begin, 1, get, 0, 0, set, 0, 1, "Store", 1, set, 0, 2, commit, 0, "prune", "Range", 0)
	add("Store", 0, "Store", 1, "Snapshot", "All, and commits beside it", 0, 1, 20, 0, 2, "All", 0)
	add("Store", 0, begin, 0, "All, and writes in the loop", 0, 2, commit, 0, "ended handle", 0, 0,
		"Begin", 0, "ended handle", 0, 0)
	add("Store", 0, "Close", "overwrite", 0, 30, begin, 0, get, 0, 0, set, 0, 1, "Update", 0,
		1, 1, 0, commit, 0)
	f.Fuzz(func(t *testing.T, code []byte) {
		switch c := (&tape{code: code}); c.choose(4, "types") {
		case 0:
			runCode(t, c, intKey, pointerValue)
		case 1:
			runCode(t, c, stringKey, intValue)
		default:
			runCode(t, c, anyKey, intValue)
		}
	})
}
