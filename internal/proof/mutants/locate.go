package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A workTree is the Go code at root, read as far as it was asked for.
type workTree struct {
	root    string
	folders []string // of Go files, relative to root
	fset    *token.FileSet

	mu       sync.Mutex
	packages map[string]*goPackage // by folder and tags
}

// A goPackage is a folder's code without tests, as far as some build tags select it.
type goPackage struct {
	folder    string // relative to the root of the tree
	files     []*sourceFile
	functions []*function
	names     map[string]bool // all that stand in it
}

// A sourceFile is a file of a package.
type sourceFile struct {
	path string // relative to the root of the tree
	text string
	tree *ast.File
}

// A function is one function or method.
type function struct {
	name      string // TYPE.METHOD for a method
	of        *goPackage
	file      *sourceFile
	from, to  int // offsets in the file
	firstLine int
	toks      []tok
}

// openTree lists the folders with Go files below root.
func openTree(root string) (*workTree, error) {
	t := &workTree{root: root, fset: token.NewFileSet(), packages: map[string]*goPackage{}}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != root &&
			(name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(name, ".go") {
			folder, err := filepath.Rel(root, filepath.Dir(file))
			t.folders = append(t.folders, filepath.ToSlash(folder))
			return err
		}
		return nil
	})
	t.folders = slices.Compact(t.folders)
	return t, err
}

// folder returns the folder that name means: itself, or the only one that ends with it.
func (t *workTree) folder(name string) (string, error) {
	var found []string
	for _, folder := range t.folders {
		if folder == name {
			return folder, nil
		}
		if strings.HasSuffix(folder, "/"+name) {
			found = append(found, folder)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d folders with Go files are named %s %v", len(found), name, found)
	}
	return found[0], nil
}

// module returns the folder of the module that folder is in.
func (t *workTree) module(folder string) string {
	for folder != "." {
		if _, err := os.Stat(filepath.Join(t.root, folder, "go.mod")); err == nil {
			break
		}
		folder = path.Dir(folder)
	}
	return folder
}

// loadPackage returns the code of folder, as tags select it.
func (t *workTree) loadPackage(folder, tags string) (*goPackage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := folder + " " + tags
	if p := t.packages[key]; p != nil {
		return p, nil
	}
	p := &goPackage{folder: folder, names: map[string]bool{}}
	selected := build.Default
	selected.BuildTags = strings.Split(tags, ",")
	dir := filepath.Join(t.root, folder)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if match, err := selected.MatchFile(dir, name); err != nil || !match {
			continue
		}
		if err := t.readFile(p, path.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	t.packages[key] = p
	return p, nil
}

// readFile parses one file of p.
func (t *workTree) readFile(p *goPackage, name string) error {
	text, err := os.ReadFile(filepath.Join(t.root, name))
	if err != nil {
		return err
	}
	f := &sourceFile{path: name, text: string(text)}
	if f.tree, err = parser.ParseFile(t.fset, name, text, parser.SkipObjectResolution); err != nil {
		return err
	}
	p.files = append(p.files, f)
	for _, decl := range f.tree.Decls {
		from, to := int(decl.Pos()-f.tree.FileStart), int(decl.End()-f.tree.FileStart)
		toks, err := tokenize(f.text[from:to])
		if err != nil {
			return err
		}
		addNames(p.names, toks)
		if d, ok := decl.(*ast.FuncDecl); ok {
			p.functions = append(p.functions, &function{
				name: receiver(d) + d.Name.Name, of: p, file: f, from: from, to: to,
				firstLine: t.fset.Position(d.Pos()).Line, toks: toks,
			})
		}
	}
	return nil
}

// receiver returns the type of the receiver of f with a dot, or nothing.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	name, _, _ := strings.Cut(types.ExprString(f.Recv.List[0].Type), "[")
	return strings.TrimPrefix(name, "*") + "."
}

// findFunctions returns the functions called name, or else the methods of other types that are
// called as this one: a type may have another name now.
func (p *goPackage) findFunctions(name string) (exact []*function) {
	var others []*function
	_, method, _ := strings.Cut(name, ".")
	for _, f := range p.functions {
		if f.name == name {
			exact = append(exact, f)
		}
		if _, own, _ := strings.Cut(f.name, "."); method != "" && own == method {
			others = append(others, f)
		}
	}
	if exact != nil {
		return exact
	}
	return others
}

// split divides a target into its package and the name of the function.
func (e *edit) split() (pkg, name string) {
	slash := strings.LastIndexByte(e.target, '/') + 1
	pkg, name, _ = strings.Cut(e.target[slash:], ".")
	return e.target[:slash] + pkg, name
}
