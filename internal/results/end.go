package results

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// What the comments of a [BenchWriter] say of the end of a run.
var (
	sayComplete = regexp.MustCompile(`^# complete: (\d+) of (\d+) samples$`)
	sayOutcome  = regexp.MustCompile(`^# (interrupted|failed) after (\d+) of (\d+) samples(?:: (.*))?$`)
	sayViolated = regexp.MustCompile(
		`^# the samples above were verified; the run ended here, after (\d+) of (\d+)$`)
	sayNext = regexp.MustCompile(`^# interrupted: the next sample ran `)
)

// ends is what text in the Go benchmark format says of how the runs in it ended. Those of
// mvccbench say so in comments. What go test writes ends with a line for each package.
type ends struct {
	begun, ended int
	cut          []string
	lost         []string // runs that say how many samples they have, and have others
	others       bool     // it is not mvccbench that wrote it
}

// endsOf reads how the runs in b ended.
func endsOf(b []byte) (ends, error) {
	var e ends
	samples := 0
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	end := func(done string) {
		e.ended++
		if n, err := strconv.Atoi(done); err != nil || n != samples {
			e.lost = append(e.lost, fmt.Sprintf("a run says that it has %s samples, and there are %d",
				done, samples))
		}
		samples = 0
	}
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "# "+headerMark) {
			e.begun++
		}
		if m := sayComplete.FindStringSubmatch(line); m != nil {
			end(m[1])
			if m[1] != m[2] {
				e.cut = append(e.cut, strings.TrimPrefix(line, "# "))
			}
		}
		if m := sayOutcome.FindStringSubmatch(line); m != nil {
			end(m[2])
			e.cut = append(e.cut, strings.TrimPrefix(line, "# "))
		}
		if m := sayViolated.FindStringSubmatch(line); m != nil {
			end(m[1])
			e.cut = append(e.cut, strings.TrimPrefix(line, "# "))
		}
		if strings.HasPrefix(strings.TrimPrefix(line, "# "), "Benchmark") {
			samples++ // those that were interrupted are comments
		}
	}
	if err := lines.Err(); err != nil {
		return e, err
	}
	if e.begun == 0 && e.ended == 0 {
		e.goTest(string(b))
	}
	return e, nil
}

// goTest reads how the benchmarks of packages ended that go test ran.
func (e *ends) goTest(text string) {
	e.others = true
	pkgs, passed := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "pkg: "):
			pkgs++
			passed = false
		case strings.HasPrefix(line, "PASS"), strings.HasPrefix(line, "ok  \t"):
			if !passed {
				e.ended++
			}
			passed = true
		case strings.HasPrefix(line, "FAIL"), strings.HasPrefix(line, "--- FAIL"),
			strings.HasPrefix(line, "panic: "):
			e.cut = append(e.cut, line)
		}
	}
	e.begun = max(pkgs, 1)
}

// doubts are why some of the results may be missing.
func (e *ends) doubts() []string {
	list := append(e.cut, e.lost...)
	if open := e.begun - e.ended; open > 0 && e.others {
		list = append(list, "nothing says that the benchmarks came to their end: go test ends with "+
			"PASS and ok")
	} else if open > 0 {
		list = append(list, "nothing says that the run came to its end: it was cut off, or an old "+
			"version wrote it")
	}
	return list
}
