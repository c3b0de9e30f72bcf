package etcdtest

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// A Cluster is members that run on this machine.
type Cluster struct {
	specs []spec
	dials clientv3.Config // of its clients
	mu    sync.Mutex
	runs  []*exec.Cmd // nil where a member was killed
}

// Start starts a cluster of n members, with their data in folders of dir, and waits until it
// answers.
func Start(ctx context.Context, n int, dir string, o Options) (*Cluster, error) {
	c := &Cluster{runs: make([]*exec.Cmd, n), dials: clientv3.Config{Logger: zap.NewNop()}}
	if o.Secrets != "" {
		if _, err := transport.SelfCert(zap.NewNop(), o.Secrets, []string{"127.0.0.1:0"}, 1); err != nil {
			return nil, err
		}
		c.dials.TLS = ClientTLS(o.Secrets)
	}
	var all []string
	for i := range n {
		client, err := freePort()
		peer, none := freePort()
		if err := cmp.Or(err, none); err != nil {
			return nil, err
		}
		advertise := peer
		if o.Net != nil {
			if advertise, err = o.Net.member(i, peer); err != nil {
				return nil, err
			}
		}
		if o.Secrets != "" {
			client = strings.Replace(client, "http", "https", 1)
		}
		name := memberName(i)
		all = append(all, name+"="+advertise)
		c.specs = append(c.specs, spec{Name: name, Dir: filepath.Join(dir, name), Client: client, Peer: peer,
			Advertise: advertise, Options: o})
	}
	for i := range c.specs {
		c.specs[i].Cluster = strings.Join(all, ",")
		if err := c.Run(i); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	if err := c.Wait(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if o.Net != nil {
		if err := o.Net.learn(ctx, c); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	return c, nil
}

func memberName(i int) string { return fmt.Sprint("m", i) }

// ports are those that this process gives out, below those that the system gives to others, which
// might take one while a member is down. Whoever listens at the first of a block has all of it: other
// processes do not.
var ports struct {
	sync.Mutex
	blocks    []net.Listener
	next, end int
}

// freePort returns an address at which nobody listens, and that was not returned before.
func freePort() (address string, err error) {
	const low, high, block = 10_000, 32_000, 100
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		var l net.Listener
		if ports.next == ports.end {
			first := low + block*rand.IntN((high-low)/block)
			if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", first)); err != nil {
				continue
			}
			ports.blocks = append(ports.blocks, l)
			ports.next, ports.end = first+1, first+block
		}
		l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", ports.next))
		ports.next++
		if err == nil {
			return "http://" + l.Addr().String(), l.Close()
		}
	}
	return "", err
}

// Wait waits until all members answer.
func (c *Cluster) Wait(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	for _, s := range c.specs {
		for {
			status, err := s.status(ctx, client)
			if err == nil && status.Leader != 0 {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("etcdtest: member %s does not answer: %w", s.Name, errors.Join(ctx.Err(), err))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// status returns the status of a member that answers within a second.
func (s *spec) status(ctx context.Context, client *clientv3.Client) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return client.Status(ctx, s.Client)
}

// Endpoints returns the addresses of the members.
func (c *Cluster) Endpoints() (list []string) {
	for _, s := range c.specs {
		list = append(list, s.Client)
	}
	return list
}

// Pid returns the process ID of a member, 0 if it was killed by [Cluster.Kill].
func (c *Cluster) Pid(i int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[i] == nil {
		return 0
	}
	return c.runs[i].Process.Pid
}

// Client returns a client of the cluster, which the caller closes.
func (c *Cluster) Client() (*clientv3.Client, error) {
	dials := c.dials
	dials.Endpoints = c.Endpoints()
	return clientv3.New(dials)
}

// ClientTLS returns how clients verify the members that have a certificate in a folder, nil if there is none.
func ClientTLS(secrets string) *tls.Config {
	cfg, _ := transport.TLSInfo{TrustedCAFile: Options{Secrets: secrets}.certificate().CertFile}.ClientConfig()
	return cfg
}

// Protect has the members ask for passwords. It adds user root, who is that of clients of [Cluster.Client]
// from then on, and one who may read and write the keys with a prefix. Both have the same password at first.
func (c *Cluster) Protect(ctx context.Context, user, password, prefix string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	_, role := client.RoleAdd(ctx, user)
	_, may := client.RoleGrantPermission(ctx, user, prefix, clientv3.GetPrefixRangeEnd(prefix),
		clientv3.PermissionType(clientv3.PermReadWrite))
	err = errors.Join(role, may)
	for name, role := range map[string]string{"root": "root", user: user} {
		_, add := client.UserAdd(ctx, name, password)
		_, grant := client.UserGrantRole(ctx, name, role)
		err = errors.Join(err, add, grant)
	}
	_, on := client.AuthEnable(ctx)
	c.dials.Username, c.dials.Password = "root", password
	return errors.Join(err, on)
}

// Proxies starts grpc-proxies before the members, as a cluster that has them in place of members.
func (c *Cluster) Proxies(ctx context.Context, n int) (*Cluster, error) {
	p := &Cluster{runs: make([]*exec.Cmd, n), dials: c.dials}
	for i := range n {
		at, err := freePort()
		p.specs = append(p.specs, spec{Name: fmt.Sprint("proxy", i), Client: at, Behind: c.Endpoints(),
			Options: Options{Server: c.specs[0].Server}})
		if err := cmp.Or(err, p.Run(i)); err != nil {
			return nil, errors.Join(err, p.Stop())
		}
	}
	if err := p.Wait(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Run runs a member, which must not be running.
func (c *Cluster) Run(i int) error {
	cmd, err := c.specs[i].command()
	if err != nil {
		return err
	}
	if cmd.Stderr = os.Stderr; c.specs[i].Behind != nil {
		cmd.Stderr = nil // a proxy tells of all that it does
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[i] = cmd
	return nil
}

// Replace kills a member and runs it by another program, see [Options.Server], with the data that it
// has.
func (c *Cluster) Replace(i int, server string) error {
	if err := c.Kill(i); err != nil {
		return err
	}
	c.specs[i].Server = server
	return c.Run(i)
}

// Kill kills a member, by SIGKILL where there are signals. A second call does nothing.
func (c *Cluster) Kill(i int) error {
	c.mu.Lock()
	cmd := c.runs[i]
	c.runs[i] = nil
	c.mu.Unlock()
	if cmd == nil {
		return nil
	}
	err := cmd.Process.Kill()
	_ = cmd.Wait() // says that it was killed
	return err
}

// Leader returns the number of the member that leads.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	client, err := c.Client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	for i, s := range c.specs {
		status, err := s.status(ctx, client)
		if err == nil && status.Leader == status.Header.MemberId {
			return i, nil
		}
	}
	return 0, fmt.Errorf("etcdtest: no member says that it leads")
}

// Stop kills all members.
func (c *Cluster) Stop() (err error) {
	for i := range c.runs {
		err = errors.Join(err, c.Kill(i))
	}
	return err
}

// Renew takes a member, which was killed, out of the cluster, with its data, and adds it again as one
// that has nothing, and runs it.
func (c *Cluster) Renew(ctx context.Context, i int) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := client.MemberList(ctx)
	if err != nil {
		return err
	}
	s := &c.specs[i]
	for _, m := range list.Members {
		if len(m.PeerURLs) == 1 && m.PeerURLs[0] == s.Advertise {
			if _, err := client.MemberRemove(ctx, m.ID); err != nil {
				return err
			}
		}
	}
	// It may be refused while the others look for a leader.
	for {
		_, err = client.MemberAdd(ctx, []string{s.Advertise})
		if err == nil || errors.Is(err, rpctypes.ErrPeerURLExist) || ctx.Err() != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := cmp.Or(ctx.Err(), os.RemoveAll(s.Dir)); err != nil {
		return err
	}
	s.Joins = true
	if err := c.Run(i); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil || s.Net == nil {
		return err
	}
	return s.Net.learn(ctx, c)
}
