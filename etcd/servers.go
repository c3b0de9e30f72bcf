package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// oldest are the first patches, of each minor version, without the faults that lose data.
var oldest = map[[2]int]int{{3, 5}: 33, {3, 6}: 14, {3, 7}: 1}

const (
	wantVersions = "3.5.33, 3.6.14 or 3.7.1"
	whyVersions  = "older ones may return stale reads after a pause (etcd issue 20418), pass over events " +
		"(20221, 18089), and let nested transactions by the permissions (CVE-2026-33343)"
)

// checkVersion returns why a server will not do.
func checkVersion(endpoint, version string) error {
	refused := &VersionError{Endpoint: endpoint, Version: version, Want: wantVersions, Why: whyVersions}
	numbers, pre, _ := strings.Cut(version, "-")
	var n []int
	for _, part := range strings.Split(numbers, ".") {
		i, err := strconv.Atoi(part)
		if err != nil {
			return refused
		}
		n = append(n, i)
	}
	if len(n) != 3 || pre != "" {
		return refused
	}
	if patch, known := oldest[[2]int{n[0], n[1]}]; known && n[2] >= patch || n[0] == 3 && n[1] > 7 {
		return nil
	}
	return refused
}

// checkServers asks each endpoint for its version. One that does not answer is passed over, if
// another one does: it is asked again by each heartbeat.
func (db *DB) checkServers(ctx context.Context) error {
	var failed []error
	var refused error
	answered := false
	for _, endpoint := range db.cfg.Client.Endpoints {
		if db.checked[endpoint] {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
		status, err := db.client.Status(ctx, endpoint)
		cancel()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", endpoint, err))
			if !unanswered(err) {
				refused = failed[len(failed)-1]
			}
			continue
		}
		if err := checkVersion(endpoint, status.Version); err != nil {
			return err
		}
		if db.cluster != 0 && status.Header.ClusterId != db.cluster {
			return fmt.Errorf("%w: %s is of a cluster with ID %x, and the others of %x", ErrHistoryLost,
				endpoint, status.Header.ClusterId, db.cluster)
		}
		answered = true
		db.checked[endpoint] = true
		if db.cluster == 0 { // in Open: it stays the same, and is read by all goroutines
			db.cluster = status.Header.ClusterId
		}
	}
	if !answered && len(db.checked) == 0 {
		return cmp.Or(refused, errors.Join(failed...))
	}
	return nil
}

// connect makes the client, and waits until a server answers, or ctx ends. Mistakes of TLS and of
// the user it returns at once.
func (db *DB) connect(ctx context.Context) error {
	cfg := db.cfg.Client
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = db.cfg.RequestTimeout // for which New asks for a token
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		var err error
		if db.client == nil {
			if db.client, err = clientv3.New(cfg); err != nil {
				db.client = nil
			}
		}
		if err == nil {
			err = db.checkServers(ctx)
		}
		if !unanswered(err) {
			return err
		}
		for _, endpoint := range cfg.Endpoints {
			if mistake := db.handshake(ctx, endpoint); mistake != nil {
				return fmt.Errorf("%s: TLS: %w", endpoint, mistake)
			}
		}
		db.warn("etcd: no server answers, Open waits", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("no server answers: %w: %w", ended(ctx), err)
		}
	}
}

// handshake returns the error of TLS between this process and a server that does not answer, nil if
// that is not the reason.
func (db *DB) handshake(ctx context.Context, endpoint string) error {
	scheme, host, found := strings.Cut(endpoint, "://")
	if !found {
		scheme, host = "", endpoint
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if db.cfg.Client.TLS != nil {
		cfg = db.cfg.Client.TLS.Clone()
	}
	if cfg.NextProtos = []string{"h2"}; cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(host)
	}
	plain := scheme == "http" || scheme == "" && db.cfg.Client.TLS == nil
	cfg.InsecureSkipVerify = cfg.InsecureSkipVerify || plain // nothing is sent to it
	ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
	defer cancel()
	tcp, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil
	}
	conn := tls.Client(tcp, cfg)
	defer conn.Close()
	err = conn.HandshakeContext(ctx)
	if ends, ok := ctx.Deadline(); ok && err == nil {
		_ = conn.SetReadDeadline(ends)
		_, err = conn.Read(make([]byte, 1)) // says whether it takes our certificate
	}
	of := &net.OpError{}
	_ = errors.As(err, &of)
	switch {
	case plain && (err == nil || of.Op == "remote error"): // it speaks TLS
		return errors.New("the server wants it, and this endpoint does not begin with https://")
	case plain || ctx.Err() != nil || errors.Is(err, io.EOF) || of.Op == "read" || of.Op == "write":
		return nil // the connection breaks, or the server is slow
	}
	return err
}
