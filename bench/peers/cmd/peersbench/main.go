// Command peersbench is mvccbench with more engines: the stores that a user could
// pick instead of the transactional map. It has the same commands and flags, and
// one command more, which makes one table of results measured before:
//
//	go run ./cmd/peersbench run --workload transfer --engine mvcc,badger,memdb -o peers.txt
//	go run ./cmd/peersbench markdown peers.txt
//
// See peersbench --help and peersbench list. "make bench-peers", in the root of
// the repository, measures every engine and prints the table.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/mvccmap/mvccmap/bench/peers"
	"github.com/mvccmap/mvccmap/internal/cli"
)

func main() { cli.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.RunWith(ctx, cli.Program{
		Name:    "peersbench",
		Engines: peers.Engines(),
		Commands: []cli.Command{{
			Name: "markdown",
			Help: "Print results that run wrote as one table in Markdown, with what each engine isolates.",
			Args: new(markdownCmd),
		}},
	}, args, stdout, stderr)
}

// markdownCmd is "peersbench markdown".
type markdownCmd struct {
	Files []string `arg:"" name:"file" help:"Results in the Go benchmark format, as run -o FILE writes them."`
	Into  string   `help:"Put the table into FILE instead, in place of what is there between the lines <!-- make bench-peers --> and <!-- end of make bench-peers -->." placeholder:"FILE"`
}

// Help shows how the table of a run is made.
func (markdownCmd) Help() string {
	return "The table of a run:\n\n    peersbench run --engine mvcc,badger,memdb -o peers.txt\n" +
		"    peersbench markdown peers.txt"
}

// Run prints the results in the named files.
func (c *markdownCmd) Run(e *cli.Env) error {
	var t peers.Table
	for _, name := range c.Files {
		if err := add(&t, name); err != nil {
			return cli.UsageError(fmt.Errorf("expected results in the Go benchmark format: %w", err))
		}
	}
	if c.Into == "" {
		return t.WriteMarkdown(e.Stdout())
	}
	page, err := os.ReadFile(c.Into)
	if err != nil {
		return cli.UsageError(fmt.Errorf("--into: expected a page that has the table: %w", err))
	}
	var b bytes.Buffer
	if err := t.WriteMarkdown(&b); err != nil {
		return err
	}
	if page, err = replaceTable(page, b.Bytes()); err != nil {
		return cli.UsageError(fmt.Errorf("--into: %s: %w", c.Into, err))
	}
	return os.WriteFile(c.Into, page, 0o666)
}

func add(t *peers.Table, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.Add(name, f)
}

// The lines between which a page has the table.
const (
	tableBegins = "<!-- make bench-peers -->\n"
	tableEnds   = "<!-- end of make bench-peers -->\n"
)

// replaceTable returns page with another table.
func replaceTable(page, table []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(tableBegins))
	if !ok {
		return nil, fmt.Errorf("there is no line %q", bytes.TrimSpace([]byte(tableBegins)))
	}
	_, after, ok := bytes.Cut(rest, []byte(tableEnds))
	if !ok {
		return nil, fmt.Errorf("there is no line %q after the first", bytes.TrimSpace([]byte(tableEnds)))
	}
	return bytes.Join([][]byte{before, []byte(tableBegins + "\n"), table, []byte("\n" + tableEnds),
		after}, nil), nil
}
