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
	"context"
	"io"

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
			Examples: []cli.Example{
				{What: "The table of a run", Args: "run --engine mvcc,badger,memdb -o peers.txt"},
				{Args: "markdown peers.txt"},
			},
			Args: new(markdownCmd),
		}},
	}, args, stdout, stderr)
}
