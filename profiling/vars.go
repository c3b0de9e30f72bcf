package profiling

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

// mapsVar is the name of the variable that has the statistics of the maps.
const mapsVar = "mvccmap"

// vars answers with the variables of package expvar, if the program uses it, and
// the statistics of the maps, as one JSON object. The command line is left out:
// it may hold secrets.
//
// Package expvar is not imported here: that alone would publish the command line
// at /debug/vars of [http.DefaultServeMux], in programs that serve it to others.
// A program that does import it has a handler there, which is asked.
func (s *service) vars(w http.ResponseWriter, r *http.Request) {
	all := map[string]json.RawMessage{}
	if h := expvarHandler(); h != nil && r.Context().Value(asked{}) == nil {
		answer := &memoryWriter{header: http.Header{}}
		h.ServeHTTP(answer, expvarRequest(r.Context()))
		if answer.refused {
			answer.Reset() // it is not package expvar, but perhaps this service behind its guard
			answer.WriteString("{}")
		}
		if err := json.Unmarshal(answer.Bytes(), &all); err != nil {
			writeError(w, refuse(http.StatusInternalServerError, "a variable published by the program is not JSON: %v", err))
			return
		}
		delete(all, "cmdline")
	}
	if _, taken := all[mapsVar]; !taken {
		stats := map[string]mvcc.Stats{}
		for i, st := range s.readMaps() {
			stats[s.sampler.names[i]] = st
		}
		text, err := json.Marshal(stats)
		if err != nil {
			writeError(w, err)
			return
		}
		all[mapsVar] = text
	}
	writeJSON(w, all)
}

// asked is the key of contexts in which the handler of expvar was asked already,
// which in a strange program leads back here.
type asked struct{}

// expvarRequest asks for what expvar has.
func expvarRequest(ctx context.Context) *http.Request {
	r, err := http.NewRequestWithContext(context.WithValue(ctx, asked{}, true), http.MethodGet, "http://localhost/debug/vars", nil)
	if err != nil {
		panic(err) // the address is a constant
	}
	return r
}

// expvarHandler returns the handler of package expvar, or what else the program
// registered in its place, and nil if there is none.
func expvarHandler() http.Handler {
	h, pattern := http.DefaultServeMux.Handler(expvarRequest(context.Background()))
	if !strings.HasSuffix(pattern, "/debug/vars") {
		return nil // a redirect, or a handler of everything
	}
	return h
}

// A memoryWriter is an [http.ResponseWriter] that keeps what is written.
type memoryWriter struct {
	bytes.Buffer
	header  http.Header
	refused bool // by a status of an error
}

// Header implements [http.ResponseWriter].
func (w *memoryWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *memoryWriter) WriteHeader(status int) { w.refused = w.refused || status >= 400 }
