package etcdtest

import (
	"context"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Restore stops all members and gives each a folder as it was copied by [Cluster.Copy].
func (c *Cluster) Restore(dir string) error {
	return c.renewAll(func(s spec) error {
		return os.CopyFS(s.Dir, os.DirFS(filepath.Join(dir, s.Name)))
	})
}

// Save writes the state of the cluster to a file, as "etcdctl snapshot save" does.
func (c *Cluster) Save(ctx context.Context, file string) error {
	_, err := snapshot.NewV3(zap.NewNop()).Save(ctx, clientv3.Config{Endpoints: c.Endpoints()[:1],
		Logger: zap.NewNop()}, file)
	return err
}

// RestoreBumped stops all members and gives each a folder that is made of a file of [Cluster.Save], as
// "etcdutl snapshot restore --bump-revision --mark-compacted" does: revisions go on that far above those
// of the file.
func (c *Cluster) RestoreBumped(file string, bump uint64) error {
	return c.renewAll(func(s spec) error {
		return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{SnapshotPath: file, Name: s.Name,
			OutputDataDir: s.Dir, PeerURLs: []string{s.Advertise}, InitialCluster: s.Cluster,
			InitialClusterToken: embed.NewConfig().InitialClusterToken, RevisionBump: bump, MarkCompacted: true})
	})
}

// renewAll stops all members, has their folders made anew, and runs them.
func (c *Cluster) renewAll(renew func(s spec) error) error {
	if err := c.Stop(); err != nil {
		return err
	}
	for i, s := range c.specs {
		if err := os.RemoveAll(s.Dir); err != nil {
			return err
		}
		if err := renew(s); err != nil {
			return err
		}
		if err := c.Run(i); err != nil {
			return err
		}
	}
	return nil
}

// Copy stops all members, copies their folders into dir, and runs them.
func (c *Cluster) Copy(dir string) error {
	if err := c.Stop(); err != nil {
		return err
	}
	for i, s := range c.specs {
		if err := os.CopyFS(filepath.Join(dir, s.Name), os.DirFS(s.Dir)); err != nil {
			return err
		}
		if err := c.Run(i); err != nil {
			return err
		}
	}
	return nil
}
