// Package dump is the command mvccdump, which shows the contents of backups and of the folders of
// journals, without the Go types. It reads files, also those of a program that runs, takes no lock,
// and writes none.
package dump

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// The exit codes of the command.
const (
	ExitOK          = 0
	ExitFailed      = 1 // something is damaged, missing, or cannot be read
	ExitUsage       = 2 // an argument is wrong; nothing was done
	ExitInterrupted = 130
)

type root struct {
	Info infoCmd `cmd:"" help:"Check all checksums, and say what there is: tables, types, epochs, files, damage."`
	Dump dumpCmd `cmd:"" help:"Print the records as of the last commit, one a line, as JSON."`
	Log  logCmd  `cmd:"" help:"Print the changes by each commit of a journal, one a line, as JSON."`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

const description = `Shows what is in the backups and journals of package durable, without the Go types.
PATH is a file that durable.Save or SaveFile has written, or the folder of a journal.
It takes no lock and changes nothing: the program that writes a journal may run.

Records of codec json are printed as they are, and those of gob translated, without
what is zero: docs/format.md says how. Those of another codec cannot be printed.

Exit codes: 0 all is well, 1 something is damaged, missing or cannot be read,
2 an argument is wrong, 130 Ctrl-C.

  mvccdump info data && cp -r data elsewhere         # if its program does not run
  mvccdump dump data --table users | jq 'select(.value.Age > 30)'
  mvccdump log data | jq -c 'select(.table == "users" and .key == "ada")'
  diff <(mvccdump dump a.backup | sort) <(mvccdump dump data | sort)`

// env has the context and the outputs of a command.
type env struct {
	ctx    context.Context
	out    *bufio.Writer
	stderr io.Writer
}

// note says something that is not part of the output.
func (e *env) note(format string, args ...any) {
	fmt.Fprintf(e.stderr, "mvccdump: "+format+"\n", args...)
}

// exited is the value that the parser's Exit panics with, to get out of it.
type exited int

// Run runs mvccdump with the given arguments, until it is done or ctx ends, and returns the exit
// code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(c)
		}
	}()
	e := &env{ctx, bufio.NewWriterSize(stdout, 1<<16), stderr}
	err := e.run(args, stdout)
	if flushed := e.out.Flush(); err == nil {
		err = flushed
	}
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ExitInterrupted
	case errors.As(err, new(*kong.ParseError)):
		e.note("%v\nTry mvccdump --help.", err)
		return ExitUsage
	}
	e.note("%v", err)
	return ExitFailed
}

func (e *env) run(args []string, stdout io.Writer) error {
	parser, err := kong.New(&root{},
		kong.Name("mvccdump"),
		kong.Description(description),
		kong.Writers(stdout, e.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Vars{"version": version()},
	)
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return err
	}
	return ctx.Run(e)
}

// version returns the version of the module that the command was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version + " " + info.GoVersion
}
