package etcd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Open returns errors of TLS at once.
func TestTLSMistakes(t *testing.T) {
	server := func(secure bool, want tls.ClientAuthType) *httptest.Server {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		t.Cleanup(s.Close)
		s.EnableHTTP2 = true
		if s.TLS = (&tls.Config{ClientAuth: want}); secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		return s
	}
	plain, secure, mutual := server(false, 0), server(true, 0), server(true, tls.RequireAnyClientCert)
	knows := func(s *httptest.Server) *tls.Config {
		return &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	}
	for want, run := range map[string]struct {
		endpoint string
		cfg      *tls.Config
	}{
		"signed by unknown authority":      {secure.URL, nil},
		"does not begin with https://":     {strings.Replace(secure.URL, "https", "http", 1), nil},
		"certificate required":             {mutual.URL, knows(mutual)},
		"not look like a TLS handshake":    {strings.Replace(plain.URL, "http", "https", 1), nil},
		"TLS: the server wants it":         {strings.TrimPrefix(secure.URL, "https://"), nil},
		"first record does not look like ": {strings.TrimPrefix(plain.URL, "http://"), knows(secure)},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := Open(ctx, Config{Prefix: "p/", Schema: NewSchema(nil), RequestTimeout: 500 * time.Millisecond,
				Client: clientv3.Config{Endpoints: []string{run.endpoint}, TLS: run.cfg}})
			require.ErrorContains(t, err, want)
			require.NoError(t, ctx.Err())
		})
	}
}

// Open waits for a server whose connections break once TLS is agreed on: that is no mistake.
func TestTLSConnectionBreaks(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	cfg := s.TLS.Clone()
	cfg.NextProtos = []string{"h2"}
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range 10 {
			if conn, err := l.Accept(); err == nil {
				secure := conn.(*tls.Conn)
				_ = secure.HandshakeContext(ctx)
				tcp := secure.NetConn().(*net.TCPConn)
				_ = tcp.SetLinger(0) // the other side reads an error, and not the end
				_ = tcp.Close()
			}
		}
	}()
	_, err = Open(ctx, Config{Prefix: "p/", Schema: NewSchema(nil), Client: clientv3.Config{
		Endpoints: []string{"https://" + l.Addr().String()},
		TLS:       &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}})
	require.ErrorIs(t, err, context.Canceled)
}
