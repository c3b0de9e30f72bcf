package profiling_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// A token that can be guessed lets no client in, not even one that has it.
func TestHandlerWithShortToken(t *testing.T) {
	h := handler(t, profiling.Config{Token: "short"})
	w := request(h, "/debug/pprof/?token=short")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "a token of 5 characters can be guessed")
	require.Equal(t, "ok\n", request(h, "/healthz").Body.String())
}

// What is written is sent when it is flushed, and a flush says if it is impossible.
func TestWrapFlushes(t *testing.T) {
	h := handler(t, profiling.Config{})
	var err error
	wrapped := h.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err = http.NewResponseController(w).Flush()
		w.WriteHeader(http.StatusInternalServerError) // too late
	}))
	w := httptest.NewRecorder()
	wrapped.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.NoError(t, err)
	require.True(t, w.Flushed)
	require.Equal(t, map[string]string{"GET": "1 0"}, counted(h))
	var plain struct{ http.ResponseWriter }
	plain.ResponseWriter = w
	wrapped.ServeHTTP(plain, httptest.NewRequest("GET", "/", nil))
	require.ErrorIs(t, err, http.ErrNotSupported)
}

// Names of operations that come from outside do not grow without end.
func TestOpsAreBounded(t *testing.T) {
	h := handler(t, profiling.Config{})
	for i := range 300 {
		require.NotNil(t, h.Op(fmt.Sprint("op ", i)))
	}
	require.Equal(t, "op 199", h.Op("op 199").Name())
	require.Equal(t, "other operations", h.Op("op 200").Name())
	require.Same(t, h.Op("op 200"), h.Op("op 299"))
}
