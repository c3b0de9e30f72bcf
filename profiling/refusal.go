package profiling

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// A refusal is an error with the HTTP status that tells it to a client.
type refusal struct {
	status int
	text   string
	retry  time.Duration // if positive, when to ask again
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// writeError answers with err as plain text: under the status of a *refusal,
// otherwise as an internal error.
func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	h := w.Header()
	if e, ok := errors.AsType[*refusal](err); ok {
		status = e.status
		if e.retry > 0 {
			h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.retry.Seconds()))))
		}
	}
	h.Del("Content-Disposition")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Go-Pprof", "1") // makes "go tool pprof" print the text
	w.WriteHeader(status)
	fmt.Fprintln(w, err)
}

// redirect answers with 303 and a relative reference, which is right whatever
// prefix the handler is mounted under; [http.Redirect] would make it absolute.
func redirect(w http.ResponseWriter, ref string) {
	w.Header().Set("Location", ref)
	w.WriteHeader(http.StatusSeeOther)
}
