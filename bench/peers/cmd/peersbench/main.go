// Command peersbench is mvccbench with more engines: the stores that a user could
// pick instead of the transactional map. It has the same commands and flags:
//
//	go run ./cmd/peersbench run --workload transfer --engine mvcc,badger,memdb
//
// "make bench-peers", in the root of the repository, measures every engine.
package main

import (
	"context"
	"io"

	"github.com/mvccmap/mvccmap/bench/peers"
	"github.com/mvccmap/mvccmap/internal/bench/cli"
)

func main() { cli.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.RunWith(ctx, cli.Program{Name: "peersbench", Engines: peers.Engines()}, args, stdout,
		stderr)
}
