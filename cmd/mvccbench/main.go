// Command mvccbench measures the transactional map, and other maps beside it,
// under load. Without arguments it runs the default sweep, in under a minute:
//
//	go run ./cmd/mvccbench
//
// See mvccbench --help and mvccbench list.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mvccmap/mvccmap/internal/cli"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var stop cli.Stop
	go stop.Handle(signals, cancel, os.Stderr, os.Exit)
	os.Exit(stop.Code(cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)))
}
