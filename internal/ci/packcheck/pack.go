package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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
	files, err := sourceFiles(ctx, root)
	if err != nil {
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
	err = zip.Create(out, module.Version{Path: modPath, Version: version}, files)
	return modPath, errors.Join(err, out.Close())
}

// sourceFile is one file for the zip.
type sourceFile struct {
	root, name string // name is slash-separated and relative to root
}

func (f sourceFile) Path() string                 { return f.name }
func (f sourceFile) Lstat() (fs.FileInfo, error)  { return os.Lstat(f.file()) }
func (f sourceFile) Open() (io.ReadCloser, error) { return os.Open(f.file()) }
func (f sourceFile) file() string                 { return filepath.Join(f.root, filepath.FromSlash(f.name)) }

// sourceFiles lists what belongs into the zip of the module at root.
func sourceFiles(ctx context.Context, root string) ([]zip.File, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "-c", "-o", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	names := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	names = slices.Compact(names)

	nested := map[string]bool{}
	for _, name := range names {
		if dir, base := path.Split(name); base == "go.mod" && dir != "" {
			nested[dir] = true
		}
	}
	var files []zip.File
	for _, name := range names {
		f := sourceFile{root, name}
		if info, err := f.Lstat(); err != nil || !info.Mode().IsRegular() {
			continue // deleted but still tracked, or a link, which a zip leaves out
		}
		if !underAny(nested, name) {
			files = append(files, f)
		}
	}
	return files, nil
}

// underAny reports whether name lies in one of dirs, which end with a slash.
func underAny(dirs map[string]bool, name string) bool {
	for dir, _ := path.Split(name); dir != ""; dir, _ = path.Split(strings.TrimSuffix(dir, "/")) {
		if dirs[dir] {
			return true
		}
	}
	return false
}
