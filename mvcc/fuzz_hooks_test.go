//go:build mvcccheck

package mvcc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The code of a scenario and of a schedule for it:
//
//	what each of the three keys is initially     one byte each
//	how the map prunes                           one byte
//	how many actors                              one byte
//	for each actor, how many operations          one byte
//	for each operation, its kind                 one byte
//	    one-key operation: the key               one byte
//	    view: the keys read                      one byte
//	    transaction: the keys read, and written  two bytes
//	the schedule: which goes on, for how long    one byte each time

var (
	codedInitial = []string{"", "%s-", "%s", "%s+"}
	codedMaps    = []string{"", "eager", "busy"}
	codedOneKey  = []string{"load %s", "store %s", "swap %s", "loadOrStore %s",
		"loadAndDelete %s", "cas %s=%d"}
	codedKinds = []string{"one-key", "prune", "refresh", "view", "view scan", "update",
		"update scan", "snapshot", "snapshot scan", "retry"}
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

// decodeScenario reads a scenario from the tape.
func decodeScenario(c *tape) (*scenario, error) {
	var initial, programs []string
	for _, key := range programKeys {
		if word := codedInitial[c.choose(len(codedInitial), "initially")]; word != "" {
			initial = append(initial, fmt.Sprintf(word, key))
		}
	}
	initial = append(initial, codedMaps[c.choose(len(codedMaps), "map")])
	for range 2 + c.choose(3, "actors") {
		var program []string
		for range 1 + c.choose(2, "operations") {
			program = append(program, decodeOperation(c))
		}
		programs = append(programs, strings.Join(program, "; "))
	}
	return parseScenario(strings.Join(initial, " ") + "|" + strings.Join(programs, "|"))
}

// decodeOperation reads the text of an operation from the tape.
func decodeOperation(c *tape) string {
	kind := c.choose(len(codedKinds)+len(codedOneKey)-1, "kind")
	if kind < len(codedOneKey) {
		i := c.choose(len(programKeys), "key")
		if text := codedOneKey[kind]; strings.Contains(text, "=") {
			return fmt.Sprintf(text, programKeys[i], i+1)
		}
		return fmt.Sprintf(codedOneKey[kind], programKeys[i])
	}
	text := codedKinds[kind-len(codedOneKey)+1]
	switch text {
	case "prune", "refresh", "view scan":
		return text
	}
	if !strings.HasSuffix(text, "scan") {
		for i, set := 0, c.choose(256, "reads"); i < len(programKeys); i++ {
			if set>>i&1 == 1 {
				text += " r" + programKeys[i]
			}
		}
	}
	if text == "view" {
		return "view ra"
	}
	if strings.HasPrefix(text, "view") {
		return text
	}
	writes, set := "", c.choose(256, "writes")
	for i := range programKeys {
		switch set >> (2 * i) & 3 {
		case 2:
			writes += " w" + programKeys[i]
		case 3:
			writes += " d" + programKeys[i]
		}
	}
	if writes == "" {
		writes = " wa"
	}
	return text + writes
}

// decodeSchedule returns a chooser that follows the tape: the low bits of a byte
// say which goes on, the others for how many steps. Once the tape has ended,
// everybody runs to the end in turn.
func decodeSchedule(c *tape) func(ready []int) int {
	who, steps := 0, 0
	return func(ready []int) int {
		if steps == 0 && !c.ended() {
			b := c.choose(256, "who, for how long")
			who, steps = b&3, 1+b>>2
		}
		if steps > 0 {
			steps--
		}
		if slices.Contains(ready, who) {
			return who
		}
		return ready[who%len(ready)]
	}
}

// FuzzSchedule runs the programs that the bytes say in the order that they say,
// one access to shared memory after the other, and looks for an order of the
// operations that explains the results. Its seeds are in testdata.
func FuzzSchedule(f *testing.F) {
	oneProcessor(f)
	f.Fuzz(func(t *testing.T, code []byte) {
		c := &tape{code: code}
		sc, err := decodeScenario(c)
		require.NoError(t, err)
		x := execute(sc, decodeSchedule(c))
		if err := x.verdict(); err != nil {
			t.Fatalf("%v\n%s", err, x.report())
		}
	})
}
