package oracle

import (
	"flag"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestPrograms runs random programs over several types of keys and values, made smaller by rapid
// if they fail. It runs the same ones each time; others are run by
//
//	go test -rapid.checks=100000 -rapid.seed=$RANDOM ./internal/proof/oracle
func TestPrograms(t *testing.T) {
	for name, value := range map[string]string{"checks": "1000", "steps": "80", "seed": "1",
		"nofailfile": "true"} {
		rapidFlag(t, name, value)
	}
	t.Run("int", func(t *testing.T) { rapid.Check(t, run(ints())) })
	t.Run("string", func(t *testing.T) { rapid.Check(t, run(texts())) })
}

// run returns a function that runs the choices of rapid.
func run[K, V comparable](d data[K, V]) func(*rapid.T) {
	return func(t *rapid.T) {
		p := newProgram(t, d)
		defer p.engine.Close()
		actions := map[string]func(*rapid.T){"": func(*rapid.T) { p.lookAtAll() }}
		for _, a := range p.actions() {
			actions[a.name] = func(t *rapid.T) {
				if !a.ready() {
					t.SkipNow()
				}
				a.run()
			}
		}
		t.Repeat(actions)
		p.finish()
	}
}

// rapidFlag sets a flag of rapid for the test, unless the command line does.
func rapidFlag(t *testing.T, name, value string) {
	t.Helper()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid."+name })
	if set {
		return
	}
	if err := flag.Set("rapid."+name, value); err != nil {
		t.Fatal(err)
	}
}

// FuzzProgram runs the program that the bytes say.
func FuzzProgram(f *testing.F) {
	for seed := range byte(12) {
		code := make([]byte, 1<<16)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(code)
		f.Add(code)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		if rapid.Bool().Draw(t, "texts") {
			run(texts())(t)
		} else {
			run(ints())(t)
		}
	}))
}
