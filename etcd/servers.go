package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
		if db.history.checked[endpoint] {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
		status, err := db.client.Status(ctx, endpoint)
		cancel()
		if err != nil {
			if failed = append(failed, fmt.Errorf("%s: %w", endpoint, err)); !unanswered(err) {
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
		db.history.verified(endpoint)
		if db.cluster == 0 { // in Open: it stays what it is, and is read by all goroutines
			db.cluster = status.Header.ClusterId
		}
	}
	if !answered && len(db.history.checked) == 0 {
		return cmp.Or(refused, fmt.Errorf("no server answers: %w", errors.Join(failed...)))
	}
	return nil
}
