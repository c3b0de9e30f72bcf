package results

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what a run ran on.
type Machine struct {
	Go         string `json:"go"`
	GOOS       string `json:"goos"`
	GOARCH     string `json:"goarch"`
	CPU        string `json:"cpu,omitempty"` // as the system names it
	CPUs       int    `json:"cpus"`          // those that the process may use
	GOMAXPROCS int    `json:"gomaxprocs"`
	// environment variables that change how a Go program runs
	Settings map[string]string `json:"settings,omitempty"`
}

// settings are the environment variables that are recorded if they are set.
var settings = []string{"GOGC", "GOMEMLIMIT", "GODEBUG"}

// ThisMachine describes the machine and the process.
func ThisMachine() Machine {
	m := Machine{
		Go:         runtime.Version(),
		GOOS:       runtime.GOOS,
		GOARCH:     runtime.GOARCH,
		CPU:        cpuName(),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	for _, name := range settings {
		if v := os.Getenv(name); v != "" {
			if m.Settings == nil {
				m.Settings = map[string]string{}
			}
			m.Settings[name] = v
		}
	}
	return m
}

// cpuName returns the processor's name as the system gives it, or "".
func cpuName() string { return told("/proc/cpuinfo", "model name") }

// Memory returns how many bytes of memory the machine has, 0 if it does not tell.
func Memory() float64 {
	n, err := strconv.ParseFloat(strings.TrimSuffix(told("/proc/meminfo", "MemTotal"), " kB"), 64)
	if err != nil {
		return 0
	}
	return n * 1024
}

// told returns what a file of the system says first of key, or "".
func told(file, key string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
