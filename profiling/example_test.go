package profiling_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mvccmap/mvccmap/profiling"
)

func ExampleStart() {
	srv, err := profiling.Start(profiling.Config{Addr: "127.0.0.1:0"}) // any free port
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.SetPhase("loading the accounts")

	res, err := http.Get(srv.URL() + "/debug/pprof/heap")
	if err != nil {
		fmt.Println(err)
		return
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(strings.HasPrefix(srv.URL(), "http://127.0.0.1:"), res.Status)
	// Output: true 200 OK
}

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", profiling.Handler(profiling.Config{Title: "accounts"}))

	srv := httptest.NewServer(mux)
	defer srv.Close()
	res, err := http.Get(srv.URL + "/debug/pprof/")
	if err != nil {
		fmt.Println(err)
		return
	}
	res.Body.Close()
	fmt.Println(res.Status, res.Header.Get("Content-Type"))
	// Output: 200 OK text/html; charset=utf-8
}
