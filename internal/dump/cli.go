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
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mvccmap/mvccmap/internal/disk"
)

// The exit codes of the command.
const (
	ExitOK          = 0
	ExitFailed      = 1 // something is damaged, missing, or cannot be read
	ExitUsage       = 2 // an argument is wrong; nothing was done
	ExitInterrupted = 130
)

type root struct {
	Info  infoCmd  `cmd:"" help:"Say what is in a backup or journal: tables, types, epochs, files."`
	Check checkCmd `cmd:"" help:"Check all checksums, decode every record, and say what is damaged or missing."`
	Dump  dumpCmd  `cmd:"" help:"Print the records as of the last commit, one a line, as JSON."`
	Log   logCmd   `cmd:"" help:"Print what the commits of a journal have changed."`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

const description = `Shows what is in the backups and journals of package mvcc, without the Go types.
PATH is a file that DB.Save or DB.SaveFile has written, or the folder of a journal.
It takes no lock and changes nothing: the program that writes a journal may run.

Records are printed as they are if the codec is json. Those of gob are translated,
without what is zero: docs/format.md says how. Of another codec only its bytes can
be printed.`

const exitCodes = `
Exit codes: 0 all is well, 1 something is damaged, missing or cannot be read,
2 an argument is wrong, 130 Ctrl-C.
`

// env is what a command works with.
type env struct {
	ctx    context.Context
	out    *bufio.Writer
	stderr io.Writer
}

// note says something that is not part of the output.
func (e *env) note(format string, args ...any) {
	fmt.Fprintf(e.stderr, "mvccdump: "+format+"\n", args...)
}

// usageError is an error in the arguments; it names the argument.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exited is what the parser's Exit panics with, to get out of it.
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
	var parse *kong.ParseError
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ExitInterrupted
	case errors.As(err, &parse), errors.As(err, &usage):
		e.note("%v\nTry mvccdump --help.", err)
		return ExitUsage
	}
	e.note("%v", err)
	return ExitFailed
}

func (e *env) run(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == "help" {
		args = append(args[1:len(args):len(args)], "--help")
	}
	var cmd root
	parser, err := kong.New(&cmd,
		kong.Name("mvccdump"),
		kong.Description(description),
		kong.Writers(stdout, e.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Help(printHelp),
		kong.Vars{"version": version()},
	)
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		if name, missing := strings.CutPrefix(err.Error(), `expected "<`); missing {
			name, _, _ = strings.Cut(name, ">")
			err = usagef("%s is missing; expected a backup, or the folder of a journal",
				strings.ToUpper(name))
		}
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

func isDamage(err error) bool {
	var in *disk.DamageError
	var of damageError
	return errors.As(err, &in) || errors.As(err, &of)
}

// examples are shown in the help of each command.
var examples = map[string]string{
	"": `
  mvccdump info data                     what is in the folder of a journal
  mvccdump check users.backup            is it whole?
  mvccdump dump data --table users | jq 'select(.value.Age > 30)'
  mvccdump log data --key '"ada"'        which commits have changed it`,
	"info": `
  mvccdump info data
  mvccdump info users.backup`,
	"check": `
  mvccdump check data && cp -r data elsewhere   # if its program does not run`,
	"dump": `
  mvccdump dump data | wc -l
  mvccdump dump users.backup --table users | jq .value.Name
  diff <(mvccdump dump a.backup | sort) <(mvccdump dump data | sort)
  mvccdump dump damaged.backup --partial > rescued.jsonl`,
	"log": `
  mvccdump log data --since 1000
  mvccdump log data --table users --key '"ada"' --format jsonl`,
}

func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	name := ""
	if node := ctx.Selected(); node != nil {
		name = node.Name
	}
	if text := examples[name]; text != "" {
		fmt.Fprintf(ctx.Stdout, "\nExamples:%s\n", text)
	}
	_, err := io.WriteString(ctx.Stdout, exitCodes)
	return err
}
