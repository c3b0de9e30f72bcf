// Command mvccbench measures the transactional map, and other maps beside it,
// under load. Without arguments it runs the default sweep, in under a minute:
//
//	go run ./cmd/mvccbench
//
// See mvccbench --help and mvccbench list.
package main

import (
	"github.com/mvccmap/mvccmap/internal/bench/cli"
)

func main() { cli.Main(cli.Run) }
