package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A job is one file of a mutant that is to be compiled.
type job struct {
	mutant     *mutant
	file, text string
}

// verify returns the errors of the mutants that do not apply or do not compile. It runs no test.
func (t *workTree) verify(ctx context.Context, mutants []*mutant) (map[*mutant]error, error) {
	errs := map[*mutant]error{}
	jobs := map[[2]string][]job{} // by module and tags
	for _, m := range mutants {
		if _, err := t.folder(m.test.pkg); err != nil {
			errs[m] = err
			continue
		}
		result, err := t.apply(m)
		if err != nil {
			errs[m] = fmt.Errorf("does not apply: %w", err)
			continue
		}
		for file, text := range result.files {
			key := [2]string{t.module(path.Dir(file)), m.test.tags}
			jobs[key] = append(jobs[key], job{m, file, text})
		}
	}
	for key, list := range jobs {
		imports, err := t.imports(ctx, key[0], key[1], list)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if err := t.compile(imports, one); err != nil {
				errs[one.mutant] = fmt.Errorf("does not compile: %w", err)
			}
		}
	}
	return errs, nil
}

// compile checks the types of a file beside the rest of its package without bodies.
func (t *workTree) compile(imports types.Importer, of job) (first error) {
	edited, err := parser.ParseFile(t.fset, of.file, of.text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p, err := t.loadPackage(path.Dir(of.file), of.mutant.test.tags)
	if err != nil {
		return err
	}
	files := []*ast.File{edited}
	for _, f := range p.files {
		if f.path != of.file {
			files = append(files, withoutBodies(f.tree))
		}
	}
	conf := types.Config{Importer: imports, Error: func(err error) {
		pos := err.(types.Error).Pos // the other files miss bodies
		if first == nil && edited.FileStart <= pos && pos <= edited.FileEnd {
			first = err
		}
	}}
	_, _ = conf.Check(p.folder, t.fset, files, nil)
	return first
}

// withoutBodies returns file with functions that have no bodies.
func withoutBodies(file *ast.File) *ast.File {
	short := *file
	short.Decls = slices.Clone(file.Decls)
	for i, decl := range short.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			head := *f
			head.Body = nil
			short.Decls[i] = &head
		}
	}
	return &short
}

// imports has go compile the packages that those of jobs import.
func (t *workTree) imports(
	ctx context.Context, module, tags string, jobs []job,
) (types.Importer, error) {
	folders := map[string]bool{}
	for _, one := range jobs {
		folders[filepath.Join(t.root, path.Dir(one.file))] = true
	}
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export", "-tags=" + tags},
		slices.Sorted(maps.Keys(folders))...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(t.root, module)
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w%s", err, stderrOf(err))
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
	open := func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) }
	return importer.ForCompiler(token.NewFileSet(), "gc", open), nil
}
