// Reservations is a service that reserves seats over HTTP. A request takes all of its seats or
// none, and the status says why it got none. The transaction has the request's context: it is
// given up when the client has gone.
package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

var (
	errTaken  = errors.New("taken")
	errNoSeat = errors.New("no such seat")
)

// A hall has its seats, each with the name of its guest, or "" if it is free.
type hall struct {
	seats *mvcc.Map[string, string]
}

// reserve handles POST /reserve?guest=alice&seat=1A&seat=1B.
func (h hall) reserve(w http.ResponseWriter, r *http.Request) {
	guest, seats := r.FormValue("guest"), r.Form["seat"]
	if guest == "" || len(seats) == 0 {
		http.Error(w, "want a guest and seats", http.StatusBadRequest)
		return
	}
	err := h.seats.Update(r.Context(), nil, func(tx mvcc.Tx[string, string]) error {
		for _, seat := range seats {
			switch taken, ok := tx.Get(seat); {
			case !ok:
				return fmt.Errorf("%s: %w", seat, errNoSeat)
			case taken != "" && taken != guest: // so a request may be made again
				return fmt.Errorf("%s: %w", seat, errTaken)
			}
			tx.Set(seat, guest)
		}
		return nil
	})
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, errNoSeat):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, errTaken):
		http.Error(w, err.Error(), http.StatusConflict)
	default: // the client has gone, or too many others were faster: to be tried again
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func main() {
	h := hall{mvcc.New[string, string](nil)}
	defer h.seats.Close()
	for _, seat := range []string{"1A", "1B", "1C", "1D"} {
		h.seats.Store(seat, "")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reserve", h.reserve)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	post := func(guest string, seats ...string) int {
		res, err := http.PostForm(srv.URL+"/reserve", url.Values{"guest": {guest}, "seat": seats})
		if err != nil {
			panic(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}

	fmt.Println("alice:", post("alice", "1A", "1B"))
	fmt.Println("again:", post("alice", "1A", "1B"))
	fmt.Println("bob:", post("bob", "1C", "1B"))
	fmt.Println("balcony:", post("bob", "9Z"))
	fmt.Println("nothing:", post("bob"))

	var codes [8]int // all of these want the last two seats, half of them in the other order
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			seats := []string{"1C", "1D"}
			if i%2 == 1 {
				slices.Reverse(seats)
			}
			codes[i] = post(fmt.Sprint("guest ", i), seats...)
		})
	}
	wg.Wait()
	slices.Sort(codes[:])
	c, _ := h.seats.Load("1C")
	d, _ := h.seats.Load("1D")
	fmt.Println("the rest:", codes, "side by side:", c != "" && c == d)
}
