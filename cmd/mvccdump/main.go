// Command mvccdump shows backups and journals of package durable, without the Go types:
//
//	go run ./cmd/mvccdump info data
//	go run ./cmd/mvccdump dump data --table users
//
// See mvccdump --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mvccmap/mvccmap/cmd/mvccdump/internal/dump"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(dump.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
