package oracle

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// TestPrograms runs random programs over several types of keys and values, made smaller by rapid
// if they fail. It runs the same ones each time; others are run by
//
//	go test -rapid.checks=100000 -rapid.seed=$RANDOM ./internal/oracle
func TestPrograms(t *testing.T) {
	for name, value := range map[string]string{"checks": "400", "steps": "80", "seed": "1",
		"nofailfile": "true"} {
		rapidFlag(t, name, value)
	}
	t.Run("int", func(t *testing.T) { rapid.Check(t, run(ints())) })
	t.Run("string", func(t *testing.T) { rapid.Check(t, run(texts())) })
	t.Run("any", func(t *testing.T) { rapid.Check(t, run(mixed())) })
}

// run returns a function that runs what rapid chooses.
func run[K, V comparable](d data[K, V]) func(*rapid.T) {
	return func(rt *rapid.T) {
		choose := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
		p := newProgram(rt, d, choose)
		defer p.engine.Close()
		actions := map[string]func(*rapid.T){"": func(*rapid.T) { p.lookAtAll() }}
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
const maxProgram = 200

func runCode[K, V comparable](t *testing.T, c *tape, d data[K, V]) {
	p := newProgram(t, d, c.choose)
	defer p.engine.Close()
	actions := p.actions()
	for step := 0; step < maxProgram && !c.ended(); step++ {
		if a := actions[c.choose(len(actions), "action")]; a.ready() {
			a.run()
			p.lookAtAll()
		}
	}
	p.finish()
}

// FuzzProgram runs the program that the bytes say.
func FuzzProgram(f *testing.F) {
	for i := range 24 { // programs of all kinds of steps, over all shapes and types
		code := make([]byte, 300)
		for j := range code {
			code[j] = byte(j*(2*i+7) + j*j/(i+3))
		}
		code[0] = byte(i)
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		switch c := (&tape{code: code}); c.choose(3, "types") {
		case 0:
			runCode(t, c, ints())
		case 1:
			runCode(t, c, texts())
		default:
			runCode(t, c, mixed())
		}
	})
}
