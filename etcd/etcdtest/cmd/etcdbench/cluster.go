package main

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/mvccmap/mvccmap/etcd/etcdtest"
)

// flags are those of all commands.
type flags struct {
	Endpoints []string `help:"Use the cluster that has these addresses, and write under a prefix of its own there. By default three members are started on this machine." placeholder:"URL" group:"Cluster"`
	Sync      bool     `help:"Have the members that are started keep everything on disk before they answer." group:"Cluster"`
	Server    string   `help:"Run this program etcd, of another version maybe, as members." placeholder:"FILE" group:"Cluster"`
	MaxTxnOps uint     `name:"max-txn-ops" help:"What --max-txn-ops of the members is; 0 is what etcd has, 128." default:"2048" placeholder:"N" group:"Cluster"`
}

// A cluster is what engines use: it is started when the first one is made.
type cluster struct {
	flags
	ctx context.Context

	mu     sync.Mutex
	own    *etcdtest.Cluster
	remove func() error
	client *clientv3.Client
}

// patience is how long anything may take that is not measured.
const patience = time.Minute

// start returns a client of the cluster, which stop closes.
func (c *cluster) start() (*clientv3.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		return c.client, nil
	}
	endpoints := c.Endpoints
	if len(endpoints) == 0 {
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		defer cancel()
		var err error
		var dir string
		if dir, c.remove, err = etcdtest.TempDir("", "etcdbench"); err != nil {
			return nil, err
		}
		if c.own, err = etcdtest.Start(ctx, 3, dir, etcdtest.Options{Quota: 8 << 30, Sync: c.Sync, Server: c.Server,
			MaxTxnOps: c.MaxTxnOps}); err != nil {
			return nil, err
		}
		endpoints = c.own.Endpoints()
	}
	var err error
	c.client, err = clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(),
		DialTimeout: 10 * time.Second})
	return c.client, err
}

// stop ends what start has started.
func (c *cluster) stop() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		err = c.client.Close()
		if errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	if c.own != nil {
		err = errors.Join(err, c.own.Stop())
	}
	if c.remove != nil {
		err = errors.Join(err, c.remove())
	}
	return err
}

// A place is a prefix of its own in the cluster.
type place struct {
	cluster *cluster
	client  *clientv3.Client
	prefix  string
	// endpoints are those of replicas, if they are not those of client.
	endpoints []string
}

func (c *cluster) place() (*place, error) {
	client, err := c.start()
	if err != nil {
		return nil, err
	}
	return &place{cluster: c, client: client, prefix: "etcdbench/" + rand.Text() + "/"}, nil
}

// clear deletes what is there.
func (p *place) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	gone, err := p.client.Delete(ctx, p.prefix, clientv3.WithPrefix())
	if err == nil && p.cluster.own != nil {
		// What it leaves behind is not to burden what comes next.
		_, _ = p.client.Compact(ctx, gone.Header.Revision, clientv3.WithCompactPhysical())
	}
}

// fill calls put with all numbers below n, some at a time, by several goroutines.
func fill(n int, put func(low, high int) error) error {
	const each, goroutines = 100, 8
	next := make(chan int)
	stop := make(chan struct{})
	failed := make(chan error, goroutines)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for low := range next {
				if err := put(low, min(low+each, n)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	go func() { all.Wait(); close(stop) }()
	for low := 0; low < n; low += each {
		select {
		case next <- low:
		case <-stop: // all have failed
			return <-failed
		}
	}
	close(next)
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}
