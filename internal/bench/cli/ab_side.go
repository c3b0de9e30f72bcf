package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/profiling"
)

// An abSide is one of the two programs of a comparison.
type abSide struct {
	side    string // old or new
	label   string // as it was named
	program string // an executable file; it is there after build
	module  string // the folder of the module that it is built in; "" if it is there already
	commit  string // that is built; "" for the work tree as it is
	temp    string
	name    string // of the program
	pkg     string // that is built

	run     results.Run
	profile combinations
	last    profiling.Profiles // of the sample that was taken last
}

// find returns the kind of a side: an executable, the work tree, or a revision.
func (a *ab) find(side, named string) (*abSide, error) {
	s := &abSide{side: side, label: named, temp: a.temp, name: a.env.Name,
		pkg: cmp.Or(a.env.Package, "./cmd/"+a.env.Name), profile: combinations{}}
	wrong := func(why string) error {
		return usagef("%s: %s; expected an executable file of %s, a revision of git, or . for the work "+
			"tree", named, why, s.name)
	}
	if info, err := os.Stat(named); err == nil && info.Mode().IsRegular() {
		if runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
			return nil, wrong("the file cannot be executed")
		}
		s.program, err = filepath.Abs(named)
		return s, err
	} else if err == nil && filepath.Clean(named) != "." && strings.ContainsRune(named, filepath.Separator) {
		return nil, wrong("it is a folder")
	}
	mod, err := s.output(a.env.ctx, ".", "go", "env", "GOMOD")
	switch {
	case err != nil:
		return nil, err
	case mod == "" || mod == os.DevNull:
		return nil, wrong("there is no such file, and the current folder is in no module to build")
	}
	s.module = filepath.Dir(mod)
	if named == "." {
		return s, nil
	}
	// The modules of a workspace would be those of the work tree.
	work, err := s.output(a.env.ctx, s.module, "go", "env", "GOWORK")
	switch {
	case err != nil:
		return nil, err
	case work != "" && work != "off":
		return nil, usagef("%s: the module is in the workspace %s, which a revision has no part in; "+
			"expected GOWORK=off in the environment, or programs that are built already", named, work)
	}
	s.commit, err = s.output(a.env.ctx, s.module, "git", "rev-parse", "--verify", "--quiet",
		"--end-of-options", named+"^{commit}")
	if err != nil && a.env.ctx.Err() == nil {
		return nil, wrong("there is no such file, and no such revision in " + s.module)
	}
	return s, err
}

// output runs a program in a folder and returns its output. An error has its
// standard error.
func (s *abSide) output(ctx context.Context, dir, program string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	c := command(ctx, program, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	err := c.Run()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("%s (%s): %s %s: %w\n%s", s.side, s.label, program,
			strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// endsWithin is how long a program that was told to end may take.
const endsWithin = 10 * time.Second

// sideEnviron returns the environment of the programs that a comparison starts. It leaves out git's
// variables of a repository, which in a hook of git point at the commit being made, and turns hooks
// off.
var sideEnviron = sync.OnceValue(func() []string {
	list, _ := exec.Command("git", "rev-parse", "--local-env-vars").Output() // without git, none
	local := strings.Fields(string(list))
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(local, name)
	})
	return append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath",
		"GIT_CONFIG_VALUE_0="+os.DevNull)
})

// command returns a command that gets an interrupt, as by Ctrl-C, when ctx ends. A Ctrl-C at the
// terminal does not reach the command.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = sideEnviron()
	c.Cancel = func() error {
		if runtime.GOOS == "windows" { // it knows no such signal
			return c.Process.Kill()
		}
		return c.Process.Signal(os.Interrupt)
	}
	c.WaitDelay = endsWithin
	ownGroup(c)
	return c
}

// build builds the program. A revision is built in a git worktree, which
// is gone when build returns.
func (s *abSide) build(ctx context.Context) (err error) {
	dir := s.module
	if s.commit != "" {
		prefix, err := s.output(ctx, s.module, "git", "rev-parse", "--show-prefix")
		if err != nil {
			return err
		}
		tree := filepath.Join(s.temp, s.side+"-tree")
		defer func() {
			always := context.WithoutCancel(ctx)
			_, why := s.output(always, s.module, "git", "worktree", "remove", "--force", "--force", tree)
			if _, none := os.Stat(tree); why != nil && errors.Is(none, os.ErrNotExist) {
				_, why = s.output(always, s.module, "git", "worktree", "prune") // it was not made
			}
			err = errors.Join(err, why)
		}()
		if _, err := s.output(ctx, s.module, "git", "worktree", "add", "--quiet", "--detach", tree,
			s.commit); err != nil {
			return err
		}
		dir = filepath.Join(tree, filepath.FromSlash(prefix))
	}
	program := filepath.Join(s.temp, s.side)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	// -trimpath, so that the profiles of both have the same names of files
	_, err = s.output(ctx, dir, "go", "build", "-trimpath", "-buildvcs=false", "-o", program,
		s.pkg)
	if err == nil {
		s.program = program
	}
	return err
}

// samplesFile returns the name of the file of a side.
func samplesFile(dir, side string) string { return filepath.Join(dir, side+".json") }

// keep takes a sample of the side, and its profiles.
func (s *abSide) keep(sample results.Sample) (err error) {
	if s.last != nil {
		err = s.profile.add(&sample, s.last)
		s.last = nil
	}
	s.run.Samples = append(s.run.Samples, sample)
	return err
}
