package mvcc

import (
	"flag"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Random programs, made smaller by rapid if they fail. The suite runs the same
// ones each time; others are run by
//
//	go test -run TestPrograms -rapid.checks=100000 -rapid.seed=$RANDOM ./mvcc

func intKey(i int) int       { return i }
func stringKey(i int) string { return fmt.Sprint("key ", i) }

// anyKey has a dynamic type, so that the map asks whether keys equal themselves.
func anyKey(i int) any {
	if i%2 == 0 {
		return i
	}
	return stringKey(i)
}

func intValue(n int) int      { return n }
func pointerValue(n int) *int { return &n }

// TestPrograms runs programs over several types of keys and values.
func TestPrograms(t *testing.T) {
	rapidFlag(t, "checks", sizes(300, 200)) // divided by 5 under -short
	rapidFlag(t, "steps", 100)              // halved under -short
	rapidFlag(t, "seed", 1)
	rapidFlag(t, "nofailfile", true) // the seed and the program are printed
	t.Run("int", func(t *testing.T) { checkPrograms(t, intKey, pointerValue) })
	t.Run("string", func(t *testing.T) { checkPrograms(t, stringKey, intValue) })
	t.Run("any", func(t *testing.T) { checkPrograms(t, anyKey, intValue) })
}

// checkPrograms runs random programs over one type of keys and one of values.
func checkPrograms[K, V comparable](t *testing.T, key func(int) K, value func(int) V) {
	rapid.Check(t, func(rt *rapid.T) {
		choose := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
		p := newProgram(rt, t, choose, key, value)
		defer p.m.Close()
		actions := map[string]func(*rapid.T){"": func(*rapid.T) { p.checkStats() }}
		for _, a := range p.actions() {
			actions[a.name] = func(rt *rapid.T) {
				if !a.ready() {
					rt.SkipNow()
				}
				a.run()
			}
		}
		rt.Repeat(actions)
		p.finish()
	})
}

// rapidFlag sets a flag of rapid for the test, unless the command line does.
func rapidFlag(t *testing.T, name string, value any) {
	t.Helper()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid."+name })
	if set {
		return
	}
	old := flag.Lookup("rapid." + name).Value.String()
	put := func(value string) {
		if err := flag.Set("rapid."+name, value); err != nil {
			t.Fatal(err)
		}
	}
	put(fmt.Sprint(value))
	t.Cleanup(func() { put(old) })
}
