package main

import (
	"bytes"
	"context"
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

// copyTree makes dir a fresh copy of the named files of root. Whatever dir
// held before is gone: a test may have left files behind.
func copyTree(root, dir string, files []string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, file := range files {
		from, to := filepath.Join(root, file), filepath.Join(dir, file)
		if err := copyFile(from, to); err != nil {
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

// applyPatch applies patch to the tree at dir. All hunks apply exactly, or
// nothing is changed and the error says which did not.
func applyPatch(ctx context.Context, dir string, patch []byte) error {
	cmd := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir = dir
	// Inside a repository git apply silently skips paths that it takes to be
	// outside. The temporary directory may lie in one, and a git hook names one
	// by environment.
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=")
	})
	cmd.Env = append(cmd.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = bytes.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// stderrOf returns what a command that failed in Output said, or nothing.
func stderrOf(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return ": " + string(bytes.TrimSpace(exit.Stderr))
	}
	return ""
}
