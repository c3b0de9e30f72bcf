package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sourceFiles lists the files of the work tree at root that git tracks or
// would track, as slash-separated paths. Uncommitted work is included, so that
// a fault and its test can be tried before either is committed.
func sourceFiles(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "-c", "-o", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w%s", err, stderrOf(err))
	}
	files := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(files)
	return slices.Compact(files), nil // a file in a merge conflict is listed thrice
}

// copyTree makes dir a fresh copy of the named files of root, with the files of a mutant in place
// of theirs. All that dir held before is gone: a test may have left files behind.
func copyTree(root, dir string, files []string, changed map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, file := range files {
		from, to := filepath.Join(root, file), filepath.Join(dir, file)
		if err := copyFile(from, to); err != nil {
			return err
		}
	}
	for file, text := range changed {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies one regular file with its permissions, or one symbolic link.
// A file that git still tracks but that is gone from the work tree is skipped.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, info.Mode().Perm())
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	return fmt.Errorf("%s is neither a file nor a link", from)
}

// overlay writes a file for go build -overlay to dir, and returns its name: the files of a mutant
// in place of those of root, and no file in the place of those left out.
func overlay(root, dir string, changed map[string][]byte, leftOut []string) (string, error) {
	replace := map[string]string{}
	for file, text := range changed {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = to
	}
	for _, file := range leftOut {
		replace[filepath.Join(root, file)] = ""
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}

// stderrOf returns the words of a command that failed in Output, or nothing.
func stderrOf(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return ": " + strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}
