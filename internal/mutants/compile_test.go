package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault that does not compile any more is noticed by no test. Each patched file is checked beside
// the declarations of its package, without the bodies of the other files.
func TestMutantsCompile(t *testing.T) {
	mutants, err := readMutants(".")
	require.NoError(t, err)
	worlds := map[string]*world{}
	for _, m := range mutants {
		tags, module := buildTags(m.test), "."
		if in := nested.FindStringSubmatch(m.test); in != nil {
			module = moduleOf(in[1])
		}
		w := worlds[module+tags]
		if w == nil {
			w = newWorld(t, module, tags)
			worlds[module+tags] = w
		}
		for _, err := range w.check(t, m) {
			t.Errorf("%s.patch has to be made anew, see CONTRIBUTING.md: %v", m.name, err)
		}
	}
}

// A world is what the type checker knows of a module, with a set of build tags.
type world struct {
	fset     *token.FileSet
	importer types.Importer
	packages map[string]*listed // by folder, from the root
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	files                   map[string]*ast.File // without bodies
}

func buildTags(command string) string {
	return regexp.MustCompile(` -tags[ =]\S+`).FindString(command)
}

// moduleOf returns the folder of the module that folder is in.
func moduleOf(folder string) string {
	for folder != "." {
		if _, err := os.Stat(filepath.Join("../..", folder, "go.mod")); err == nil {
			break
		}
		folder = path.Dir(folder)
	}
	return folder
}

// newWorld asks go for the packages of a module, and compiles what they import.
func newWorld(t *testing.T, module, tags string) *world {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"},
		strings.Fields(tags)...)
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./...")...)
	cmd.Dir = filepath.Join(root, module)
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err, stderrOf(err))
	w := &world{fset: token.NewFileSet(), packages: map[string]*listed{}}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(listed)
		err := dec.Decode(p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		exports[p.ImportPath] = p.Export
		if dir, ok := strings.CutPrefix(p.Dir, root+string(filepath.Separator)); ok {
			w.packages[filepath.ToSlash(dir)] = p
		}
	}
	w.importer = importer.ForCompiler(w.fset, "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(exports[name])
	})
	return w
}

// check returns the errors of the files that m changes.
func (w *world) check(t *testing.T, m mutant) (errs []error) {
	t.Helper()
	dir := t.TempDir()
	patched := map[string][]string{} // by folder
	for _, name := range regexp.MustCompile(`(?m)^--- a/(\S+)$`).FindAllSubmatch(m.patch, -1) {
		file := string(name[1])
		require.NoError(t, copyFile(filepath.Join("../..", file), filepath.Join(dir, file)))
		patched[path.Dir(file)] = append(patched[path.Dir(file)], path.Base(file))
	}
	if err := applyPatch(t.Context(), dir, m.patch); err != nil {
		return []error{err}
	}
	for folder, files := range patched {
		p := w.packages[folder]
		if p == nil {
			errs = append(errs, errors.New(folder+" is no package of the module of its test"))
			continue
		}
		errs = append(errs, w.checkPackage(t, p, files, filepath.Join(dir, folder))...)
	}
	return errs
}

// checkPackage returns the errors of the given files of p, which are taken from dir.
func (w *world) checkPackage(t *testing.T, p *listed, changed []string, dir string) (errs []error) {
	t.Helper()
	if p.files == nil {
		p.files = map[string]*ast.File{}
		for _, name := range p.GoFiles {
			p.files[name] = w.parse(t, filepath.Join(p.Dir, name))
			for _, decl := range p.files[name].Decls {
				if f, ok := decl.(*ast.FuncDecl); ok {
					f.Body = nil
				}
			}
		}
	}
	var files []*ast.File
	for name, file := range p.files {
		if !slices.Contains(changed, name) {
			files = append(files, file)
		}
	}
	for _, name := range changed {
		files = append(files, w.parse(t, filepath.Join(dir, name)))
	}
	conf := types.Config{Importer: w.importer, Error: func(err error) {
		if e := (types.Error{}); errors.As(err, &e) && strings.HasPrefix(w.fset.Position(e.Pos).Filename, dir) {
			errs = append(errs, err)
		}
	}}
	_, _ = conf.Check(p.ImportPath, w.fset, files, nil)
	return errs
}

func (w *world) parse(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(w.fset, name, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}
