package machine

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Pressure says for how long programs have waited for want of something, in seconds since some
// start; NaN where the system does not tell.
type Pressure struct {
	CPU, Memory, IO  float64 // some waited
	AllMemory, AllIO float64 // all that did not sleep waited
	Throttled        float64 // all waited, because a quota of processor time was used up
}

// PressureFiles are where the system tells of pressure.
type PressureFiles struct {
	Whose string // "" if the system does not tell
	files map[string]string
	stat  string
}

// FindPressure finds the files about the control group of this program or, without any, about
// the machine. root is that of the file system.
func FindPressure(root string) (p PressureFiles) {
	find := func(whose, dir, suffix string) bool {
		files := map[string]string{}
		for _, of := range []string{"cpu", "memory", "io"} {
			file := filepath.Join(dir, of+suffix)
			if _, err := os.ReadFile(file); err == nil { // it may exist and be off
				files[of] = file
			}
		}
		if len(files) == 0 {
			return false
		}
		p.Whose, p.files = whose, files
		return true
	}
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(groups)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			dir := filepath.Join(root, "sys/fs/cgroup", path)
			p.stat = filepath.Join(dir, "cpu.stat")
			if find("the control group of this program", dir, ".pressure") {
				return p
			}
		}
	}
	find("the machine", filepath.Join(root, "proc/pressure"), "")
	return p
}

// Read reads the files found. It takes up to four system calls for each file.
func (f PressureFiles) Read() Pressure {
	p := Pressure{Throttled: math.NaN()}
	p.CPU, _ = f.read("cpu")
	p.Memory, p.AllMemory = f.read("memory")
	p.IO, p.AllIO = f.read("io")
	text, _ := os.ReadFile(f.stat)
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("throttled_usec ")); ok {
			p.Throttled = micros(rest)
		}
	}
	return p
}

// read returns for how long some programs, and all, have waited for want of a resource.
func (f PressureFiles) read(of string) (some, all float64) {
	some, all = math.NaN(), math.NaN()
	text, _ := os.ReadFile(f.files[of])
	for line := range bytes.Lines(text) {
		_, total, ok := bytes.Cut(line, []byte("total="))
		switch {
		case !ok:
		case bytes.HasPrefix(line, []byte("some ")):
			some = micros(total)
		case bytes.HasPrefix(line, []byte("full ")):
			all = micros(total)
		}
	}
	return some, all
}

// micros returns microseconds in seconds, NaN if the text is no number.
func micros(text []byte) float64 {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return math.NaN()
	}
	return float64(n) / 1e6
}
