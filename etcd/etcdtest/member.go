package etcdtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// A spec is the configuration of a member. It is given to the process in its environment.
type spec struct {
	Name, Dir, Client, Peer, Cluster string
	// Advertise is how other members reach Peer.
	Advertise string
	// Joins says that the member is new to a cluster that there is.
	Joins bool
	// Behind has the endpoints of a cluster: the process is a grpc-proxy before it, and no member.
	Behind []string
	Options
}

// Options configure the members of a cluster. Zero fields mean the defaults of etcd.
type Options struct {
	Quota     int64 // --quota-backend-bytes
	MaxTxnOps uint  // --max-txn-ops
	// Sync has members keep everything on disk before they answer, as etcd does. Otherwise they are
	// for processes that are killed, and not for machines that lose power.
	Sync bool
	// Server is the path of a program etcd, of another version maybe, that is run. By default the
	// members are of the version that this module requires.
	Server string
	// Secrets is an empty folder, if given: members serve clients by TLS, with a certificate that is
	// made there, see [ClientTLS].
	Secrets string
	// Net, if not nil, is between the members.
	Net *Net `json:"-"`
}

// environment says to a process that it is a member.
const environment = "MVCCMAP_ETCDTEST_MEMBER"

// Main runs a member, and does not return, if the process was started for that. A program that calls
// [Start] calls it first of all.
func Main() {
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	err := run(text)
	fmt.Fprintln(os.Stderr, "etcdtest: a member has ended:", err)
	os.Exit(1)
}

func run(text string) error {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // a terminal sends it to all; the program says when it ends
	go func() {                 // it does not survive the program that has started it
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	if s.Behind != nil {
		os.Args = append([]string{"etcd"}, s.args()...)
		etcdmain.Main(os.Args)
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = s.Name, s.Dir, "panic", !s.Sync
	cfg.QuotaBackendBytes = s.Quota
	if s.MaxTxnOps > 0 {
		cfg.MaxTxnOps = s.MaxTxnOps
	}
	if s.Joins {
		cfg.ClusterState = embed.ClusterStateFlagExisting
	}
	if s.Secrets != "" {
		cfg.ClientTLSInfo, cfg.BcryptCost = s.certificate(), cheapPasswords
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

// command returns the command that runs the member.
func (s *spec) command() (*exec.Cmd, error) {
	if s.Server != "" {
		cmd := exec.Command(s.Server, s.args()...)
		alone(cmd)
		return cmd, nil
	}
	cmd, _, err := Again(environment, s)
	return cmd, err
}

// Again returns a command that runs this program once more, with a value as JSON in a variable of its
// environment, and an input that ends with this program.
func Again(variable string, value any) (cmd *exec.Cmd, input io.Writer, err error) {
	text, err := json.Marshal(value)
	self, unknown := os.Executable()
	if err := cmp.Or(err, unknown); err != nil {
		return nil, nil, err
	}
	cmd = exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), variable+"="+string(text)), os.Stderr
	alone(cmd)
	input, err = cmd.StdinPipe()
	return cmd, input, err
}

// cheapPasswords is the least --bcrypt-cost: members are as fast as others, though they check passwords.
const cheapPasswords = 4

// certificate returns the files of the certificate, which is its own authority.
func (o Options) certificate() transport.TLSInfo {
	return transport.TLSInfo{CertFile: filepath.Join(o.Secrets, "cert.pem"),
		KeyFile: filepath.Join(o.Secrets, "key.pem")}
}

// args returns the flags of etcd.
func (s *spec) args() []string {
	if s.Behind != nil {
		return []string{"grpc-proxy", "start", "--listen-addr", strings.TrimPrefix(s.Client, "http://"),
			"--endpoints", strings.Join(s.Behind, ","), "--advertise-client-url", ""}
	}
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
	if s.Secrets != "" {
		files := s.certificate()
		args = append(args, "--cert-file", files.CertFile, "--key-file", files.KeyFile,
			"--bcrypt-cost", fmt.Sprint(cheapPasswords))
	}
	return args
}
