package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rebuild is a side that builds a program of internal/footprint again after an edit of its one
// file, as one does all day: with one process of the compiler at a time, and all else built before.
// What it takes is the time of processors.
func rebuild(name, program string) side {
	return side{name, func(ctx context.Context, b *testing.B) error {
		root, err := command(ctx, "list", "-m", "-f", "{{.Dir}}")
		if err != nil {
			return err
		}
		file := filepath.Join(strings.TrimSpace(root), "internal", "footprint", "testdata", program,
			"main.go")
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		edited, err := newEdit(b.TempDir(), file, source)
		if err != nil {
			return err
		}
		if _, err := edited.build(ctx); err != nil {
			return err
		}
		var took time.Duration
		for b.Loop() {
			one, err := edited.build(ctx)
			if err != nil {
				return err
			}
			took += one
		}
		b.ReportMetric(float64(took)/float64(b.N), "ns/op")
		return nil
	}}
}

// command returns what a go command prints.
func command(ctx context.Context, args ...string) (out string, err error) {
	list := exec.CommandContext(ctx, "go", args...)
	list.Stderr = os.Stderr
	text, err := list.Output()
	return string(text), err
}

// An edit is a program whose file is edited without being changed: the go command is told to take
// another one in its place.
type edit struct{ file, other, overlay, program string }

func newEdit(dir, file string, source []byte) (edit, error) {
	e := edit{file, filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"),
		filepath.Join(dir, "program")}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: e.other}})
	if err != nil {
		return e, err
	}
	if err := os.WriteFile(e.overlay, replace, 0o600); err != nil {
		return e, err
	}
	return e, os.WriteFile(e.other, source, 0o600)
}

// build adds a line that has never been there, and builds the program.
func (e edit) build(ctx context.Context) (took time.Duration, err error) {
	f, err := os.OpenFile(e.other, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(f, "\nconst edit%d = 0\n", time.Now().UnixNano())
	if err := f.Close(); err != nil {
		return 0, err
	}
	if err != nil {
		return 0, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-p=1", "-o", e.program, "-overlay", e.overlay,
		filepath.Dir(e.file))
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return build.ProcessState.UserTime() + build.ProcessState.SystemTime(), nil
}
