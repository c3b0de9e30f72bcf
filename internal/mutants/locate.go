package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
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
	folder string // relative to the root of the tree
	tags   string
	files  []*sourceFile
	names  map[string]bool // all that stand in it
	own    map[string]bool // those that it declares, but for methods
}

// A sourceFile is a file of a package.
type sourceFile struct {
	path  string // relative to the root of the tree
	text  []byte
	toks  []tok
	decls []declaration
	tree  *ast.File
}

// A declaration is one of a function, method, type, constant or variable.
type declaration struct {
	name string // TYPE.METHOD for a method
	node ast.Node
	toks []tok
	file *sourceFile
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
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no folder with Go files is named %s", name)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s may mean %s", name, strings.Join(found, " or "))
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
	p := &goPackage{folder: folder, tags: tags, names: map[string]bool{}, own: map[string]bool{}}
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
		file, err := t.readFile(path.Join(folder, name))
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
		for name := range namesOf(file.toks) {
			p.names[name] = true
		}
		for i := range file.decls {
			p.own[file.decls[i].name] = true
		}
	}
	t.packages[key] = p
	return p, nil
}

// readFile parses one file.
func (t *workTree) readFile(name string) (*sourceFile, error) {
	text, err := os.ReadFile(filepath.Join(t.root, name))
	if err != nil {
		return nil, err
	}
	f := &sourceFile{path: name, text: text}
	if f.tree, err = parser.ParseFile(t.fset, name, text, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	if f.toks, err = tokenize(text); err != nil {
		return nil, err
	}
	for _, decl := range f.tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			f.declare(receiver(decl)+decl.Name.Name, decl)
		case *ast.GenDecl:
			f.declareAll(decl)
		}
	}
	return f, nil
}

// declareAll adds the types, constants and variables of a declaration.
func (f *sourceFile) declareAll(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		node := ast.Node(spec)
		if !decl.Lparen.IsValid() {
			node = decl
		}
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			f.declare(spec.Name.Name, node)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				f.declare(name.Name, node)
			}
		}
	}
}

// declare adds a declaration.
func (f *sourceFile) declare(name string, node ast.Node) {
	from, to := int(node.Pos()-f.tree.FileStart), int(node.End()-f.tree.FileStart)
	first, _ := slices.BinarySearchFunc(f.toks, from, func(t tok, at int) int { return t.pos - at })
	last, _ := slices.BinarySearchFunc(f.toks, to, func(t tok, at int) int { return t.pos - at })
	f.decls = append(f.decls, declaration{name: name, node: node, toks: f.toks[first:last], file: f})
}

// receiver returns the type of the receiver of f with a dot, or nothing.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	for of := f.Recv.List[0].Type; ; {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.IndexListExpr:
			of = x.X
		case *ast.Ident:
			return x.Name + "."
		default:
			return ""
		}
	}
}

// isFunc reports whether d is a function or method.
func (d *declaration) isFunc() bool {
	_, ok := d.node.(*ast.FuncDecl)
	return ok
}

// lineOf returns the number of the line at offset.
func (f *sourceFile) lineOf(offset int) int {
	return 1 + strings.Count(string(f.text[:offset]), "\n")
}

// findDecls returns the declarations called name, or else the methods of other types that are
// called as this one: a type may have another name now.
func (p *goPackage) findDecls(name string) (exact []*declaration) {
	var others []*declaration
	_, method, _ := strings.Cut(name, ".")
	for _, file := range p.files {
		for i := range file.decls {
			d := &file.decls[i]
			_, own, _ := strings.Cut(d.name, ".")
			switch {
			case d.name == name:
				exact = append(exact, d)
			case method != "" && own == method:
				others = append(others, d)
			}
		}
	}
	if exact != nil {
		return exact
	}
	return others
}

// split divides a target into its package and the name of the declaration.
func (e *edit) split() (pkg, name string) {
	slash := strings.LastIndexByte(e.target, '/') + 1
	pkg, name, _ = strings.Cut(e.target[slash:], ".")
	return e.target[:slash] + pkg, name
}
