package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	answered := false
	for _, endpoint := range db.cfg.Client.Endpoints {
		if db.history.checked[endpoint] {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
		status, err := db.client.Status(ctx, endpoint)
		cancel()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", endpoint, err))
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
		return fmt.Errorf("no server answers: %w", errors.Join(failed...))
	}
	return nil
}

// A meta says what is kept under a prefix.
type meta struct {
	Format int               `json:"format"`
	Tables map[string]string `json:"tables"` // how their records are encoded
}

const format = 2

// agree makes sure that what is kept is what the schema says, adds the tables that are new, and makes
// the revision be above the local clock, which has counted the indexes.
func (db *DB) agree(ctx context.Context) error {
	for {
		resp, err := db.client.Get(ctx, db.keys.meta())
		if err != nil {
			return err
		}
		var m meta
		mod := int64(0)
		if len(resp.Kvs) > 0 {
			mod = resp.Kvs[0].ModRevision
			if err := json.Unmarshal(resp.Kvs[0].Value, &m); err != nil || m.Format != format {
				return &SchemaError{Kept: string(resp.Kvs[0].Value), Want: fmt.Sprint("format ", format)}
			}
		} else {
			m = meta{Format: format, Tables: map[string]string{}}
		}
		news := mod == 0 || uint64(resp.Header.Revision) <= db.local.Epoch()+1
		for name, t := range db.schema.tables {
			kept, there := m.Tables[name]
			if there && kept != t.codec() {
				return &SchemaError{Table: name, Kept: kept, Want: t.codec()}
			}
			news = news || !there
			m.Tables[name] = t.codec()
		}
		if !news {
			return nil
		}
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		// Whether it was applied shows in the next round.
		if _, err = db.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(db.keys.meta()), "=", mod)).
			Then(clientv3.OpPut(db.keys.meta(), string(text))).Commit(); err != nil {
			return err
		}
	}
}
