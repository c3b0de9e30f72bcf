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
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mvccmap/mvccmap/bench/peers"
	"github.com/mvccmap/mvccmap/internal/cli"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "markdown" {
		os.Exit(table(args[1:], os.Stdout, os.Stderr))
	}
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go cli.HandleSignals(signals, cancel, os.Stderr, os.Exit)
	os.Exit(cli.RunWith(ctx, peers.Engines(), args, os.Stdout, os.Stderr))
}

const tableUsage = `Usage: peersbench markdown FILE...

Print results that "peersbench run" wrote, in the Go benchmark format, as one
table in Markdown: workloads and engines by goroutines, with what each engine
isolates.
`

// table prints the results in the named files, and returns the exit code.
func table(files []string, stdout, stderr io.Writer) int {
	if len(files) == 1 && (files[0] == "--help" || files[0] == "-h") {
		fmt.Fprint(stdout, tableUsage)
		return cli.ExitOK
	}
	if len(files) == 0 {
		fmt.Fprintf(stderr, "peersbench: markdown: expected a file of results\n%s", tableUsage)
		return cli.ExitUsage
	}
	var t peers.Table
	for _, name := range files {
		if err := add(&t, name); err != nil {
			fmt.Fprintf(stderr, "peersbench: markdown: expected results in the Go benchmark format: %v\n", err)
			return cli.ExitUsage
		}
	}
	if err := t.WriteMarkdown(stdout); err != nil {
		fmt.Fprintf(stderr, "peersbench: markdown: %v\n", err)
		return cli.ExitFailed
	}
	return cli.ExitOK
}

func add(t *peers.Table, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.Add(name, f)
}
