// Command packcheck shows that a user can have the library. It packs the
// module as a proxy would, serves it from a folder, fetches it into an empty
// module with "go get", builds and runs the README's example there, and checks
// what came along: which modules are compiled in, and how much go.mod and
// go.sum grew.
//
//	go -C internal/ci run ./packcheck -root ../..
//
// The caches and the configuration of the machine are used but not changed:
// the packed version goes into a module cache of its own. It needs git, and
// the module proxy for what the local module cache does not hold.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// user is the path of the empty module that plays the user.
const user = "example.com/user"

// maxGraph is how many modules the user's module graph may have, its own and the library
// included: a tool that the library's commands use counts as well.
const maxGraph = 15

// runLimit bounds the README's example: it is a demonstration, not a load.
const runLimit = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its surroundings passed in. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c check
	flags := flag.NewFlagSet("packcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.root, "root", ".", "folder of the module to pack")
	flags.StringVar(&c.version, "version", "v0.1.0", "version to pack it as")
	flags.StringVar(&c.pkg, "package", "mvcc", "package to fetch, relative to the module")
	flags.StringVar(&c.readme, "readme", "README.md",
		"file that holds the example, relative to the module")
	allow := flags.String("allow", "github.com/puzpuzpuz/xsync/v4",
		"modules a user may have to compile, separated by commas")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "packcheck: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	c.allow = strings.Split(*allow, ",")
	c.out = stdout
	if err := c.do(ctx); err != nil {
		fmt.Fprintln(stderr, "packcheck:", err)
		return 1
	}
	return 0
}

// A check is one run of the command.
type check struct {
	root, version, pkg, readme string
	allow                      []string
	out                        io.Writer

	dir string   // the user's module
	env []string // what the go commands in it see
}

// do runs the check and returns the first thing that is wrong.
func (c *check) do(ctx context.Context) error {
	readme, err := os.ReadFile(filepath.Join(c.root, c.readme))
	if err != nil {
		return err
	}
	example, err := firstProgram(string(readme))
	if err != nil {
		return fmt.Errorf("%s: %w", c.readme, err)
	}

	tmp, err := os.MkdirTemp("", "packcheck-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	proxy := filepath.Join(tmp, "proxy")
	modPath, err := packModule(ctx, c.root, proxy, c.version)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "packed %s %s\n", modPath, c.version)

	c.dir = filepath.Join(tmp, "user")
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return err
	}
	if err := c.setEnv(ctx, tmp, proxy, modPath); err != nil {
		return err
	}
	if _, err := c.goCommand(ctx, "mod", "init", user); err != nil {
		return err
	}
	if _, err := c.goCommand(ctx, "get", modPath+"/"+c.pkg+"@"+c.version); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, "main.go"), []byte(example), 0o644); err != nil {
		return err
	}
	if err := c.runExample(ctx); err != nil {
		return err
	}
	if err := c.checkDeps(ctx, modPath); err != nil {
		return err
	}
	return c.checkModFiles(ctx, modPath)
}

// setEnv chooses a fresh module cache and puts the packed module and what the
// machine's own cache holds in front of the machine's proxies.
func (c *check) setEnv(ctx context.Context, tmp, proxy, modPath string) error {
	cmd := exec.CommandContext(ctx, "go", "env", "GOPROXY", "GOMODCACHE", "GONOSUMDB")
	cmd.Dir = tmp // outside of every module
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	vars := strings.Split(strings.TrimRight(string(out), "\n")+"\n\n", "\n")
	machine, cache, noSum := vars[0], vars[1], vars[2]
	proxies := []string{fileURL(proxy), fileURL(filepath.Join(cache, "cache", "download"))}
	if machine != "" {
		proxies = append(proxies, machine)
	}
	c.env = append(os.Environ(),
		"GOPROXY="+strings.Join(proxies, ","),
		"GONOSUMDB="+strings.Trim(noSum+","+modPath, ","),
		"GOMODCACHE="+filepath.Join(tmp, "modcache"),
		"GOFLAGS=-modcacherw", // so that the cache can be removed
		"GOWORK=off",
		"PWD="+c.dir,
	)
	return nil
}

// goCommand runs go with args in the user's module and returns its output. An
// error holds what the command said.
func (c *check) goCommand(ctx context.Context, args ...string) (string, error) {
	fmt.Fprintf(c.out, "$ go %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// runExample builds the user's program and runs it.
func (c *check) runExample(ctx context.Context) error {
	bin := filepath.Join(filepath.Dir(c.dir), "example.exe")
	if _, err := c.goCommand(ctx, "build", "-o", bin, "."); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(c.out, "$ ./example\n%s", out)
	if err != nil {
		return fmt.Errorf("the example of %s: %w", c.readme, err)
	}
	return nil
}

// checkDeps checks which modules the example is compiled from.
func (c *check) checkDeps(ctx context.Context, modPath string) error {
	out, err := c.goCommand(ctx, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	if err != nil {
		return err
	}
	compiled := strings.Fields(out)
	slices.Sort(compiled)
	compiled = slices.Compact(compiled)
	fmt.Fprintf(c.out, "compiled modules: %s\n", strings.Join(compiled, " "))
	if !slices.Contains(compiled, modPath) {
		return fmt.Errorf("the example does not use %s", modPath)
	}
	return c.onlyAllowed("the example compiles", compiled, modPath)
}

// checkModFiles checks that the user's go.mod asks for nothing but the library
// and what it compiles, and that go.sum has the contents of nothing else: the
// tests and tools of the library are not the user's affair. Hashes of go.mod
// files alone do not count, they are needed to choose versions.
func (c *check) checkModFiles(ctx context.Context, modPath string) error {
	out, err := c.goCommand(ctx, "list", "-m", "-f", "{{.Path}}", "all")
	if err != nil {
		return err
	}
	graph := strings.Fields(out)
	if len(graph) > maxGraph {
		return fmt.Errorf("the user's module graph has %d modules, want at most %d: %s",
			len(graph), maxGraph, strings.Join(graph, " "))
	}

	mod, err := os.ReadFile(filepath.Join(c.dir, "go.mod"))
	if err != nil {
		return err
	}
	required, err := requirements(mod)
	if err != nil {
		return err
	}
	if err := c.onlyAllowed("go.mod requires", required, modPath); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(c.dir, "go.sum"))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "go.mod: %d required; go.sum: %d lines; module graph: %d modules\n",
		len(required), bytes.Count(sum, []byte("\n")), len(graph))
	return c.onlyAllowed("go.sum has the contents of", sumContents(sum), modPath)
}

// onlyAllowed returns an error that starts with what if paths has a module
// that is neither the user's, nor the library, nor on the list.
func (c *check) onlyAllowed(what string, paths []string, modPath string) error {
	for _, path := range paths {
		if path != user && path != modPath && !slices.Contains(c.allow, path) {
			return fmt.Errorf("%s %s, which a user should not need", what, path)
		}
	}
	return nil
}

// fileURL returns the file:// address of an absolute path.
func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return "file://" + path
}
