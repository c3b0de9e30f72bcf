package etcdtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// A spec is what a member has to know. It is given to the process in its environment.
type spec struct {
	Name, Dir, Client, Peer, Cluster string
	// Advertise is how other members reach Peer.
	Advertise string
	// Joins says that the member is new to a cluster that there is.
	Joins bool
	Options
}

// Options say what the members of a cluster are like. Zero fields mean the defaults of etcd.
type Options struct {
	Quota     int64 // --quota-backend-bytes
	MaxTxnOps uint  // --max-txn-ops
	// Sync has members keep everything on disk before they answer, as etcd does. Otherwise they are
	// for processes that are killed, and not for machines that lose power.
	Sync bool
	// Server is the path of a program etcd, of another version maybe, that is run. By default the
	// members are what this module requires.
	Server string
	// Net, if not nil, is between the members.
	Net *Net `json:"-"`
}

// What says in the environment of a process that it is a member, or removes the folder of one.
const (
	environment = "MVCCMAP_ETCDTEST_MEMBER"
	cleaning    = "MVCCMAP_ETCDTEST_CLEAN"
)

// Main runs a member, and does not return, if the process was started for that. A program that calls
// [Start] calls it first of all.
func Main() {
	if dir := os.Getenv(cleaning); dir != "" {
		clean(dir)
		os.Exit(0)
	}
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	err := run(text)
	fmt.Fprintln(os.Stderr, "etcdtest: a member has ended:", err)
	os.Exit(1)
}

// leave ends the member, and leaves its folder to a process that removes it: here etcd would write to it
// meanwhile, or end with an error halfway.
func (s *spec) leave() {
	_, _ = removeAfter(s.Dir)
	os.Exit(0)
}

// TempDir makes a folder, as [os.MkdirTemp] does, and returns what removes it with all that is in it. If
// the program ends before that, however it does, a process of its own removes it: members that were
// killed leave theirs, and so does what is being copied.
func TempDir(dir, pattern string) (name string, remove func() error, err error) {
	if name, err = os.MkdirTemp(dir, pattern); err != nil {
		return "", nil, err
	}
	end, err := removeAfter(name + string(filepath.Separator))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(name))
	}
	return name, func() error {
		err := os.RemoveAll(name)
		end()
		return err
	}, nil
}

// removeAfter removes dir when this process has ended, or end is called, and then the folder in which it is
// if that is empty: that is dir itself if it ends with a separator.
func removeAfter(dir string) (end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), cleaning+"="+dir)
	in, err := cmd.StdinPipe() // which ends with this process
	if err != nil {
		return nil, err
	}
	return func() {
		_ = in.Close()
		_ = cmd.Wait()
	}, cmd.Start()
}

// clean is what the process of removeAfter does: with the last folder of a member that of the cluster goes.
func clean(dir string) {
	signal.Ignore(os.Interrupt)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until whose folder it is has ended: it would write once more
	for range 200 {
		if os.RemoveAll(dir) == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = os.Remove(filepath.Dir(dir))
}

func run(text string) error {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // a terminal sends it to all; the program says when it ends
	go func() {                 // it does not survive the program that has started it
		_, _ = os.Stdin.Read(make([]byte, 1))
		s.leave()
	}()
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = s.Name, s.Dir, "panic", !s.Sync
	cfg.QuotaBackendBytes = s.Quota
	if s.MaxTxnOps > 0 {
		cfg.MaxTxnOps = s.MaxTxnOps
	}
	if s.Joins {
		cfg.ClusterState = embed.ClusterStateFlagExisting
	}
	client, err := url.Parse(s.Client)
	if err != nil {
		return err
	}
	peer, err := url.Parse(s.Peer)
	if err != nil {
		return err
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	advertise, err := url.Parse(s.Advertise)
	if err != nil {
		return err
	}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*advertise}
	cfg.InitialCluster = s.Cluster
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	return <-e.Err()
}

// A Cluster is members that run on this machine.
type Cluster struct {
	specs []spec
	mu    sync.Mutex
	runs  []*exec.Cmd // nil where a member was killed
}

// Start starts a cluster of n members, with their data in folders of dir, and waits until it
// answers. The folders go with the cluster if the program ends without [Cluster.Stop].
func Start(ctx context.Context, n int, dir string, o Options) (*Cluster, error) {
	c := &Cluster{runs: make([]*exec.Cmd, n)}
	var all []string
	for i := range n {
		client, err := freePort()
		if err != nil {
			return nil, err
		}
		peer, err := freePort()
		if err != nil {
			return nil, err
		}
		advertise := peer
		if o.Net != nil {
			if advertise, err = o.Net.member(i, peer); err != nil {
				return nil, err
			}
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
			ask, cancel := context.WithTimeout(ctx, time.Second)
			status, err := client.Status(ask, s.Client)
			cancel()
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

// Endpoints returns the addresses of the members.
func (c *Cluster) Endpoints() (list []string) {
	for _, s := range c.specs {
		list = append(list, s.Client)
	}
	return list
}

// Dir returns the folder of a member's data.
func (c *Cluster) Dir(i int) string { return c.specs[i].Dir }

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
	return clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
}

// Run runs a member, which must not be running.
func (c *Cluster) Run(i int) error {
	cmd, err := c.specs[i].command()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[i] = cmd
	return nil
}

// command returns what runs the member.
func (s *spec) command() (*exec.Cmd, error) {
	if s.Server != "" {
		cmd := exec.Command(s.Server, s.args()...)
		alone(cmd)
		return cmd, nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), environment+"="+string(text))
	_, err = cmd.StdinPipe() // which ends with this program
	return cmd, err
}

// args returns the flags of etcd.
func (s *spec) args() []string {
	args := []string{"--name", s.Name, "--data-dir", s.Dir, "--log-level", "panic",
		"--listen-client-urls", s.Client, "--advertise-client-urls", s.Client,
		"--listen-peer-urls", s.Peer, "--initial-advertise-peer-urls", s.Advertise,
		"--initial-cluster", s.Cluster}
	if !s.Sync {
		args = append(args, "--unsafe-no-fsync")
	}
	if s.Quota > 0 {
		args = append(args, "--quota-backend-bytes", fmt.Sprint(s.Quota))
	}
	if s.MaxTxnOps > 0 {
		args = append(args, "--max-txn-ops", fmt.Sprint(s.MaxTxnOps))
	}
	if s.Joins {
		args = append(args, "--initial-cluster-state", "existing")
	}
	return args
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
		ask, cancel := context.WithTimeout(ctx, time.Second)
		status, err := client.Status(ask, s.Client)
		cancel()
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

// Restore stops all members and gives each a folder as it was copied by [Cluster.Copy].
func (c *Cluster) Restore(dir string) error {
	return c.renewAll(func(s spec) error {
		return os.CopyFS(s.Dir, os.DirFS(filepath.Join(dir, s.Name)))
	})
}

// Save writes what there is to a file, as "etcdctl snapshot save" does.
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
