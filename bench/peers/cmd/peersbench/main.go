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
	"os"
	"os/signal"
	"syscall"

	"github.com/mvccmap/mvccmap/bench/peers"
	"github.com/mvccmap/mvccmap/internal/cli"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var stop cli.Stop
	go stop.Handle(signals, cancel, os.Stderr, os.Exit)
	os.Exit(stop.Code(cli.RunWith(ctx, cli.Program{
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
	}, os.Args[1:], os.Stdout, os.Stderr)))
}
