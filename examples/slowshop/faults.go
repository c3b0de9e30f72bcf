package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// serve serves the routes on a free port until ctx ends.
func (s *shop) serve(ctx context.Context, srv *profiling.Server) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "profiles: %s, shop: http://%s\n", srv.URL(), l.Addr())
	go http.Serve(l, srv.Wrap(s.routes()))
	<-ctx.Done()
	return l.Close()
}

// routes are those of -faults. All but the first have a fault: a lock that is held for long, a
// leak, allocation, many objects for the collector, a disk, work, and a storm of conflicts.
func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	for route, handle := range map[string]func(){
		"GET /{$}":       func() {},
		"GET /order":     func() { s.journal.add(nil) },
		"GET /mail":      func() { go mail(make(chan string)) },
		"GET /report":    func() { report(make([][]byte, 1024)) },
		"GET /catalogue": s.catalogue,
		"GET /save":      save,
		"GET /price":     price,
		"GET /vote":      s.vote,
	} {
		mux.HandleFunc(route, func(http.ResponseWriter, *http.Request) { handle() })
	}
	return mux
}

//go:noinline
func mail(letters <-chan string) { <-letters }

//go:noinline
func report(pages [][]byte) {
	for i := range pages {
		pages[i] = make([]byte, 16<<10)
	}
}

// An entry is one of the catalogue, which is made anew by each request.
type entry struct{ next, other *entry }

func (s *shop) catalogue() {
	var first *entry
	for range 200_000 {
		first = &entry{first, first}
	}
	s.entries.Store(first)
}

func save() {
	if f, err := os.CreateTemp("", "slowshop-*"); err == nil {
		for range 16 { // also a fast disk is slow for so many
			f.WriteString("on disk")
			f.Sync()
		}
		f.Close()
		os.Remove(f.Name())
	}
}

//go:noinline
func price() {
	for end := time.Now().Add(10 * time.Millisecond); time.Now().Before(end); {
	}
}

func (s *shop) vote() {
	opts := &mvcc.TxOptions{Name: "vote"}
	_ = s.stock.Update(context.Background(), opts, func(tx mvcc.Tx[int, int]) error {
		n, _ := tx.Get(countKey)
		time.Sleep(100 * time.Microsecond) // within the transaction
		tx.Set(countKey, n+1)
		return nil
	})
}
