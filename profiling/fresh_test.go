package profiling

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Connections on which nothing was received are closed, also those that come later; the
// others are not.
func TestFreshConnectionsAreClosed(t *testing.T) {
	var f freshConns
	connect := func(states ...http.ConnState) (peer net.Conn) {
		c, peer := net.Pipe()
		t.Cleanup(func() { c.Close() })
		require.NoError(t, peer.SetReadDeadline(time.Now().Add(time.Minute))) // if it hangs
		for _, state := range states {
			f.note(c, state)
		}
		if len(states) > 1 {
			go c.Write([]byte("x"))
		}
		return peer
	}
	fresh := connect(http.StateNew)
	used := connect(http.StateNew, http.StateActive)
	f.close()
	late := connect(http.StateNew)
	for _, peer := range []net.Conn{fresh, late} {
		_, err := peer.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}
	_, err := used.Read(make([]byte, 1))
	require.NoError(t, err)
}
