package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// packModule writes the module at root into dir as version of a module proxy
// that serves files: dir may then stand in GOPROXY as a file:// address. The
// zip holds what git tracks or would track, less nested modules, which is what
// a proxy would pack from a commit. It returns the module's path.
func packModule(ctx context.Context, root, dir, version string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	modPath := modfile.ModulePath(mod)
	if err := module.Check(modPath, version); err != nil {
		return "", err
	}
	escaped, err := module.EscapePath(modPath)
	if err != nil {
		return "", err
	}
	tree, err := os.MkdirTemp("", "packcheck-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tree)
	if err := export(ctx, root, tree); err != nil {
		return "", err
	}

	at := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return "", err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
	for name, text := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(info),
		version + ".mod":  mod,
	} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			return "", err
		}
	}
	out, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return "", err
	}
	err = zip.CreateFromDir(out, module.Version{Path: modPath, Version: version}, tree)
	return modPath, errors.Join(err, out.Close())
}

// export copies the regular files that git tracks, or would track, from root to dir.
func export(ctx context.Context, root, dir string) error {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "-c", "-o", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
			continue // deleted but still tracked, or a link, which a zip leaves out
		}
		text, err := os.ReadFile(from)
		err = cmp.Or(err, os.MkdirAll(filepath.Dir(to), 0o755))
		if err = cmp.Or(err, os.WriteFile(to, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
