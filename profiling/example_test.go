package profiling_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// A service whose requests are counted by pattern, with errors and latencies.
func ExampleService_Wrap() {
	h := profiling.Handler(profiling.Config{})
	defer h.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", h)
	mux.Handle("/metrics", h)
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "user", r.PathValue("id"))
	})
	srv := httptest.NewServer(h.Wrap(mux))
	defer srv.Close()

	for _, path := range []string{"/users/1", "/users/2", "/metrics"} {
		res, err := http.Get(srv.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		for line := range strings.Lines(text(res)) {
			if strings.HasPrefix(line, "operation_duration_seconds_count") {
				fmt.Print(line)
			}
		}
	}
	// Output: operation_duration_seconds_count{operation="GET /users/{id}"} 2
}

// text returns the body of an answer.
func text(res *http.Response) string {
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Operations that take longer than 99.9 % of their kind are explained on the page
// /debug/pprof/slow/.
func ExampleService_Op() {
	srv, err := profiling.Start(profiling.Config{
		Addr: "127.0.0.1:0",
		Slow: &profiling.SlowConfig{Percentile: 99.9},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	checkout := srv.Op("checkout") // once
	for range 10 {
		start := time.Now()
		// ... the work of a checkout ...
		checkout.Done(time.Since(start))
	}
	fmt.Println(checkout.Name())
	// Output: checkout
}

// The samples of each Update say which transaction they belong to: "go tool pprof -tagfocus
// mvcc_tx=checkout" shows those of the checkouts.
func ExampleLabelUpdate() {
	m := mvcc.New[string, int](&mvcc.Options{Around: profiling.LabelUpdate})
	defer m.Close()
	opts := &mvcc.TxOptions{Name: "checkout"}
	err := m.Update(context.Background(), opts, func(tx mvcc.Tx[string, int]) error {
		tx.Set("apples", 10)
		return nil
	})
	fmt.Println(m.Len(), err)
	// Output: 1 <nil>
}
