package results

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The comments of a [BenchWriter] about the end of a run.
var (
	sayComplete = regexp.MustCompile(`^# complete: (\d+) of (\d+) samples$`)
	sayCut      = regexp.MustCompile(`^# (?:interrupted|failed) after (\d+) of \d+ samples(?:: .*)?$`)
	sayViolated = regexp.MustCompile(
		`^# the samples above were verified; the run ended here, after (\d+) of \d+$`)
)

// ends has the runs in a text in the Go benchmark format, and how they ended. The text of a run of
// mvccbench has its end in comments, that of go test in a line for each package.
type ends struct {
	header       *Header // of the first run
	begun, ended int
	cut          []string
	lost         []string // runs that say how many samples they have, and have others
	others       bool     // it is not mvccbench that wrote it
	noisy        int      // samples
}

// endsOf reads the ends of runs in b.
func endsOf(b []byte) (*ends, error) {
	e := &ends{}
	samples, text := 0, ""
	end := func(done string, whole bool) {
		e.ended++
		if n, err := strconv.Atoi(done); err != nil || n != samples {
			e.lost = append(e.lost, fmt.Sprintf("a run says that it has %s samples, and there are %d",
				done, samples))
		}
		if samples = 0; !whole {
			e.cut = append(e.cut, text)
		}
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		comment := false
		text, comment = strings.CutPrefix(line, "# ")
		if strings.HasPrefix(text, "Benchmark") {
			samples++ // those that were interrupted are comments
		}
		if record, ok := strings.CutPrefix(text, headerMark); ok && comment {
			e.begun++
			if e.header == nil {
				e.header = new(Header)
				if err := json.Unmarshal([]byte(record), e.header); err != nil {
					return nil, fmt.Errorf("the header: %w", err)
				}
			}
		} else if comment && strings.HasPrefix(text, noisyMark) {
			e.noisy++
		} else if m := sayComplete.FindStringSubmatch(line); m != nil {
			end(m[1], m[1] == m[2])
		} else if m := sayCut.FindStringSubmatch(line); m != nil {
			end(m[1], false)
		} else if m := sayViolated.FindStringSubmatch(line); m != nil {
			end(m[1], false)
		}
	}
	if e.begun == 0 && e.ended == 0 {
		e.goTest(string(b))
	}
	return e, nil
}

// goTest reads from the text of go test how the benchmarks of each package ended.
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

// doubts returns the reasons why some of the results may be missing.
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
