package main

import (
	"cmp"
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

// A verification says whether a mutant applies and compiles.
type verification struct {
	mutant  *mutant
	renamed []string // names of the code for those of the mutant
	err     error
}

// A batch is code of a package that is compiled at once: the edited functions of many mutants
// beside the functions that they replace, or all files of a mutant that edits something else.
type batch struct {
	folder, tags string
	files        []*ast.File
	of           map[string]*verification // by the name of the file
	whole        *verification            // the only one, if it edits something else
}

// verify finds the mutants that do not apply or do not compile, and runs no test.
func (t *workTree) verify(ctx context.Context, mutants []*mutant) (all []*verification, err error) {
	batches := map[string]*batch{}
	for _, m := range mutants {
		v := &verification{mutant: m}
		all = append(all, v)
		if _, v.err = t.folder(m.test.pkg); v.err != nil {
			continue
		}
		result, err := t.apply(m)
		if err != nil {
			v.err = fmt.Errorf("does not apply: %w", err)
			continue
		}
		v.renamed = result.renamed
		for _, folder := range result.folders() {
			if err := t.addTo(batches, folder, result, v); err != nil {
				return nil, err
			}
		}
	}
	worlds := map[string][]*batch{} // of one module, with the same tags
	for _, b := range batches {
		key := t.module(b.folder) + " " + b.tags
		worlds[key] = append(worlds[key], b)
	}
	for _, world := range worlds {
		if err := t.compile(ctx, world); err != nil {
			return nil, err
		}
	}
	return all, ctx.Err()
}

// folders returns the folders of the files that differ.
func (of *mutated) folders() []string {
	set := map[string]bool{}
	for name := range of.files {
		set[path.Dir(name)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// addTo adds the code that a mutant edits in folder to the batch for it.
func (t *workTree) addTo(
	batches map[string]*batch, folder string, of *mutated, v *verification,
) error {
	tags := v.mutant.test.tags
	p, err := t.loadPackage(folder, tags)
	if err != nil {
		return err
	}
	edited, whole := of.editedFiles(t.fset, p, v.mutant.name)
	key := folder + " " + tags
	if whole {
		key = v.mutant.name + " " + key
	}
	b := batches[key]
	if b == nil {
		b = &batch{folder: folder, tags: tags, of: map[string]*verification{}}
		batches[key] = b
		for _, file := range p.files {
			if !whole {
				b.files = append(b.files, withoutBodies(file.tree))
			} else if b.whole = v; of.files[file.path] == nil {
				b.files = append(b.files, file.tree)
			}
		}
	}
	for _, file := range edited {
		b.files = append(b.files, file)
		b.of[t.fset.File(file.FileStart).Name()] = v
	}
	return nil
}

// editedFiles returns the files of p that the mutant called name edits or adds. If it edits
// functions only, these are all that the files have, beside imports, and they get that name too,
// so that they can stand beside the others; else whole is true.
func (of *mutated) editedFiles(
	fset *token.FileSet, p *goPackage, name string,
) (files []*ast.File, whole bool) {
	known := map[string]bool{} // texts of functions
	for _, file := range p.files {
		if of.files[file.path] != nil {
			for _, text := range functions(file.tree, file.text) {
				known[text] = true
			}
		}
	}
	for _, d := range of.places {
		whole = whole || !d.isFunc()
	}
	edited := map[ast.Decl]bool{}
	for file, text := range of.files {
		if path.Dir(file) != p.folder {
			continue
		}
		whole = whole || path.Base(file) == addedName
		tree, _ := parser.ParseFile(fset, name+" "+file, text, parser.SkipObjectResolution)
		files = append(files, tree)
		for f, text := range functions(tree, text) {
			edited[f] = !known[text]
		}
	}
	for _, tree := range files {
		if whole {
			break
		}
		tree.Decls = slices.DeleteFunc(tree.Decls, func(d ast.Decl) bool {
			g, ok := d.(*ast.GenDecl)
			return !edited[d] && (!ok || g.Tok != token.IMPORT)
		})
		for d := range edited {
			d.(*ast.FuncDecl).Name.Name += "_" + strings.ReplaceAll(name, "-", "_")
		}
	}
	return files, whole
}

// functions returns the functions of a file with their text.
func functions(file *ast.File, text []byte) map[ast.Decl]string {
	all := map[ast.Decl]string{}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			all[f] = string(text[f.Pos()-file.FileStart : f.End()-file.FileStart])
		}
	}
	return all
}

// withoutBodies returns file with a body for each function that compiles at once.
func withoutBodies(file *ast.File) *ast.File {
	stub := &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: &ast.CallExpr{
		Fun: ast.NewIdent("panic"), Args: []ast.Expr{ast.NewIdent("nil")},
	}}}}
	short := *file
	short.Decls = slices.Clone(file.Decls)
	for i, decl := range short.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			head := *f
			head.Body = stub
			short.Decls[i] = &head
		}
	}
	return &short
}

// compile checks the types of batches of one module and the same tags.
func (t *workTree) compile(ctx context.Context, batches []*batch) error {
	imports, paths, err := t.imports(ctx, batches)
	if err != nil {
		return err
	}
	for _, b := range batches {
		var stray error
		conf := types.Config{
			Importer: imports, DisableUnusedImportCheck: true, // that of the functions left out
			Error: func(err error) {
				e := err.(types.Error)
				v := cmp.Or(b.of[e.Fset.File(e.Pos).Name()], b.whole)
				if v == nil {
					stray = err
				} else if v.err == nil {
					v.err = fmt.Errorf("does not compile: %w", err)
				}
			},
		}
		_, _ = conf.Check(paths[b.folder], t.fset, b.files, nil)
		if stray != nil {
			return stray
		}
	}
	return nil
}

// imports has go compile the packages that those of batches import. It returns the paths of their
// folders too.
func (t *workTree) imports(
	ctx context.Context, batches []*batch,
) (types.Importer, map[string]string, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export",
		"-tags=" + batches[0].tags}
	for _, b := range batches {
		args = append(args, filepath.Join(t.root, b.folder))
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(t.root, t.module(batches[0].folder))
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w%s", err, stderrOf(err))
	}
	exports, paths := map[string]string{}, map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct{ ImportPath, Dir, Export string }
		if err := dec.Decode(&p); err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if folder, err := filepath.Rel(t.root, p.Dir); err == nil {
			paths[filepath.ToSlash(folder)] = p.ImportPath
		}
	}
	open := func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) }
	return importer.ForCompiler(token.NewFileSet(), "gc", open), paths, nil
}
