// Command etcdbench is mvccbench with three more engines: etcd, the tables of module etcd, which are
// kept in an etcd cluster; and, to compare, etcd-raw and etcd-stm, the same by etcd's own client. It
// has the same commands and flags, but for verify, which checks module etcd while members, clients
// and networks fail; and one more, figures, which measures module etcd beside etcd's client:
//
//	go run -C etcd/etcdtest ./cmd/etcdbench run --workload transfer --keys 1000
//	go run -C etcd/etcdtest ./cmd/etcdbench verify --duration 10m
//	go run -C etcd/etcdtest ./cmd/etcdbench figures
//
// At the end of a run each record is read once for the checks: with many, that takes longer than the
// measurement.
//
// It starts three members on this machine, each a process of its own, which end with it; or uses the
// cluster of --endpoints.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/etcd/etcdtest/nemesis"
	"github.com/mvccmap/mvccmap/internal/cli"
)

func main() {
	jobMain()
	nemesis.Main() // does not return in a member or client
	cli.Main(run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &cluster{ctx: ctx}
	code := cli.RunWith(ctx, cli.Program{
		Name:    "etcdbench",
		Engines: append(engines(c), bench.Engines()...),
		Flags:   &c.flags,
		Commands: []cli.Command{{
			Name: "verify",
			Help: "Check module etcd while members, clients and networks fail.",
			Args: &verifyCmd{cluster: c},
		}, {
			Name: "figures",
			Help: "Measure module etcd beside etcd's own client and a plain DB, in some minutes.",
			Args: &figuresCmd{cluster: c},
		}},
	}, args, stdout, stderr)
	if err := c.stop(); err != nil {
		fmt.Fprintln(stderr, "etcdbench: stopping the members:", err)
		if code == cli.ExitOK {
			code = cli.ExitFailed
		}
	}
	return code
}
