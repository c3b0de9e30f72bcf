package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/etcd/etcdtest"
	"github.com/mvccmap/mvccmap/internal/proof/history"
)

const (
	members = 3
	clients = 3
)

// patience is how long anything may take that ends by itself.
const patience = 2 * time.Minute

// A round is one cluster, whose clients work while faults are made.
type round struct {
	RoundConfig
	ctx     context.Context // ends early if the program is told to stop
	rand    *rand.Rand
	dir     string
	net     *etcdtest.Net
	cluster *etcdtest.Cluster
	front   *etcdtest.Cluster // that clients reach: the cluster, or proxies before it
	secrets string            // of the cluster, or ""
	start   int64
	until   time.Time
	mayLose bool

	*told
}

// told has the reports to a round, of clients and of those that make faults.
type told struct {
	commits, full, lost atomic.Uint64
	waiting             atomic.Bool // clients whose replicas have failed are to wait

	mu      sync.Mutex
	next    int // number of a client
	running []*running
	lines   lines
	// from is the first generation of lists that the history has.
	from int
	// program, of the client that is started next; most and wider, see mayOpen.
	program, most, wider int
	rolling              bool
	// beside are the records of each neighbour, by its prefix.
	beside map[string]map[int]int
}

// lines are the reports of the clients.
type lines struct {
	begun   map[int]history.Tx // by the first values that they append
	ended   []history.Tx
	unknown []history.Tx
	at      []int64
	wrong   []string
	finals  []*final
}

// A running client.
type running struct {
	cmd     *exec.Cmd
	words   io.Writer
	number  int
	stopped chan struct{} // closed when it has stopped, or ended
	ended   chan struct{}
	killed  atomic.Bool
	commits atomic.Uint64
}

// with returns the round with random choices of their own, for one of several that make faults.
func (r *round) with(seed uint64) *round {
	other := *r
	other.rand = rand.New(rand.NewPCG(seed, 1))
	return &other
}

// run starts a client in place i.
func (r *round) run(i int) error {
	r.mu.Lock()
	number := r.next
	r.next++
	r.mu.Unlock()
	endpoints, err := r.net.Endpoints(r.front, -1-i)
	if err != nil {
		return err
	}
	c := &running{number: number, stopped: make(chan struct{}), ended: make(chan struct{})}
	if c.cmd, c.words, err = etcdtest.Again(environment, order{access: r.access(endpoints), Number: number,
		Seed: r.Seed, Start: r.start, MayLose: r.mayLose}); err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[i] = c
	go func() {
		defer close(c.ended)
		stopped := sync.OnceFunc(func() { close(c.stopped) })
		defer stopped()
		in := bufio.NewScanner(out)
		in.Buffer(nil, 64<<20)
		for in.Scan() {
			var l line
			if err := json.Unmarshal(in.Bytes(), &l); err != nil {
				break // it was killed amid a line
			}
			if l.Stopped {
				stopped()
			}
			if r.heard(l); l.At != 0 {
				c.commits.Add(1)
			}
			if l.Lost && !r.waiting.Load() {
				_, _ = c.words.Write([]byte(wordGoOn))
			}
		}
		if err := c.cmd.Wait(); err != nil && !c.killed.Load() {
			r.wrong("client %d has ended: %v", c.number, err)
		}
	}()
	return nil
}

func (r *round) wrong(format string, args ...any) {
	r.heard(line{Wrong: fmt.Sprintf(format, args...)})
}

func (r *round) heard(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := &r.lines
	switch {
	case l.Begin != nil:
		all.begun[l.Begin.Ops[0].Value] = *l.Begin
	case l.End != nil:
		if i := slices.IndexFunc(l.End.Ops, appends); i >= 0 {
			delete(all.begun, firstValue(l.End))
		}
		if l.Unknown {
			all.unknown = append(all.unknown, *l.End)
		} else {
			all.ended = append(all.ended, *l.End)
		}
	case l.At != 0:
		all.at = append(all.at, l.At)
		r.commits.Add(1)
	case l.Wrong != "":
		all.wrong = append(all.wrong, l.Wrong)
	case l.Lost:
		r.lost.Add(1)
	case l.Full:
		r.full.Add(1)
	case l.Final != nil:
		all.finals = append(all.finals, l.Final)
	}
}

func appends(o history.Op) bool { return o.Kind == history.OpAppend || o.Kind == history.OpMerge }

// firstValue is the value that a transaction appends to its lowest list, 0 if it does not append.
func firstValue(t *history.Tx) int {
	for _, o := range t.Ops {
		if appends(o) {
			return o.Value
		}
	}
	return 0
}

// kill kills the client in place i, and says whether it was running.
func (r *round) kill(i int) {
	r.mu.Lock()
	c := r.running[i]
	r.mu.Unlock()
	if c != nil {
		c.killed.Store(true)
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}

// each calls f with the clients that run.
func (r *round) each(f func(c *running)) {
	r.mu.Lock()
	all := slices.Clone(r.running)
	r.mu.Unlock()
	for _, c := range all {
		if c != nil {
			f(c)
		}
	}
}

// play runs the round. Its error says that it could not be run; violations are in the outcome.
func play(ctx context.Context, cfg RoundConfig, dir string) (o Outcome, err error) {
	f, ok := faultByName(cfg.Fault)
	if !ok {
		return o, fmt.Errorf("nemesis: there is no fault %q", cfg.Fault)
	}
	r := &round{RoundConfig: cfg, ctx: ctx, rand: rand.New(rand.NewPCG(cfg.Seed, 0)), net: etcdtest.NewNet(),
		mayLose: f.goesBack, told: &told{running: make([]*running, clients), program: newest, most: newest,
			beside: map[string]map[int]int{}, lines: lines{begun: map[int]history.Tx{}}}}
	defer r.net.Close()
	if r.dir, err = os.MkdirTemp(dir, "nemesis"); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	began, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	options := etcdtest.Options{Net: r.net, Quota: f.quota, Server: cfg.Server}
	if f.secured {
		r.secrets = filepath.Join(r.dir, "secrets")
		options.Secrets = r.secrets
	}
	if r.cluster, err = etcdtest.Start(began, members, r.dir, options); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, r.cluster.Stop()) }()
	if r.front = r.cluster; f.proxied {
		if r.front, err = r.cluster.Proxies(began, 2); err != nil {
			return o, err
		}
		defer func() { err = errors.Join(err, r.front.Stop()) }()
	}
	if f.secured {
		if err := errors.Join(os.WriteFile(passwordFile(r.secrets), []byte("first"), 0o600),
			r.cluster.Protect(began, user, "first", prefix)); err != nil {
			return o, err
		}
	}
	if f.rolls {
		r.program, r.most, r.wider, r.rolling = 0, 0, 0, true
	}
	defer func() {
		for i := range clients {
			r.kill(i)
		}
	}()
	r.start = now()
	for i := range clients {
		if err := r.run(i); err != nil {
			return o, err
		}
	}
	r.until = time.Now().Add(cfg.Duration)
	if err = r.progress(); err == nil {
		for err == nil && ctx.Err() == nil && time.Now().Before(r.until) {
			if err = f.make(r); err == nil {
				err = r.progress()
			}
		}
	}
	if stuck := (*stuckError)(nil); errors.As(err, &stuck) {
		r.wrong("%v", stuck)
		err = nil
	}
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if err != nil {
		return o, err
	}
	if err := r.end(); err != nil {
		return o, err
	}
	return r.judge(), nil
}

// end ends all faults, stops the clients, and compares their last states.
func (r *round) end() error {
	r.net.Heal()
	for i := range members {
		if r.cluster.Pid(i) == 0 {
			if err := r.cluster.Run(i); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	if err := r.cluster.Wait(ctx); err != nil {
		return err
	}
	if !r.tell(ctx, "stop\n", func(c *running) chan struct{} { return c.stopped }) {
		return r.ctx.Err()
	}
	r.program, r.rolling = newest, false
	end, err := open(ctx, r.access(r.cluster.Endpoints()), 2*patience)
	if err != nil {
		r.wrong("no replica can be opened at the end: %v", err)
		return nil
	}
	defer end.Close()
	from := end.Epoch() // read before the word: a client has all commits up to it then
	if !r.tell(ctx, "end\n", func(c *running) chan struct{} { return c.ended }) {
		return r.ctx.Err()
	}
	return r.last(ctx, end, from)
}

// tell gives the clients a word, and waits until each has done as it says. It reports whether all have.
func (r *round) tell(ctx context.Context, word string, done func(c *running) chan struct{}) bool {
	r.each(func(c *running) { _, _ = c.words.Write([]byte(word)) })
	all := true
	r.each(func(c *running) {
		select {
		case <-done(c):
		case <-ctx.Done():
			all = false
			r.wrong("client %d does not end", c.number)
		}
	})
	return all
}

// last reads everything, once no client writes, and compares each client with a replica that was
// opened before the word "end", at the revision of the client: leases still expire, and a request of
// a client that was killed may still come.
func (r *round) last(ctx context.Context, end *replica, from uint64) error {
	r.mu.Lock()
	finals := r.lines.finals
	r.mu.Unlock()
	for _, f := range finals {
		if err := end.WaitFor(ctx, f.Revision); err != nil {
			return err
		}
		s, err := end.SnapshotAt(min(max(f.Revision, from), end.Epoch())) // nothing was committed between
		if err != nil {
			return err
		}
		at := s.Epoch()
		sum, err := end.hash(s)
		s.Close()
		if err != nil {
			return err
		}
		if f.Hash != sum {
			r.wrong("at the end a replica has other records at revision %d than one that was opened then, at %d",
				f.Revision, at)
		}
	}
	if len(finals) < clients {
		r.wrong("%d of %d clients have come to the end", len(finals), clients)
	}
	t := history.Tx{Process: -1, Level: history.LevelSerializable, Status: history.StatusCommitted, Begin: now()}
	if _, err := end.Sync(ctx); err != nil {
		return err
	}
	s := end.Snapshot()
	defer s.Close()
	for key, list := range end.lists.At(s).All() {
		t.Ops = append(t.Ops, read(key, list))
	}
	t.End = now()
	if err := end.check(s); err != nil {
		r.wrong("at the end: %v", err)
	}
	r.mu.Lock()
	r.lines.ended = append(r.lines.ended, t)
	r.mu.Unlock()
	return nil
}

// A stuckError says that nothing is committed any more.
type stuckError struct{ during string }

func (e *stuckError) Error() string {
	return fmt.Sprintf("nothing was committed for %v, %s", patience, e.during)
}

// access returns how the next replica is opened.
func (r *round) access(endpoints []string) access {
	return access{Endpoints: endpoints, Prefix: prefix, Program: r.program, Rolling: r.rolling, Secrets: r.secrets}
}

// progress waits for some commits.
func (r *round) progress() error { return r.commitsMore(20, "after a fault") }

func (r *round) commitsMore(n uint64, when string) error {
	until := r.commits.Load() + n
	return r.come(when, func() bool { return r.commits.Load() >= until })
}

// commitsOfEach waits for some commits of each client: so each has something that is lost if the cluster
// goes back.
func (r *round) commitsOfEach(n uint64, when string) error {
	first := map[*running]uint64{}
	r.each(func(c *running) { first[c] = c.commits.Load() })
	return r.come(when, func() bool {
		done := true
		r.each(func(c *running) { done = done && c.commits.Load() >= first[c]+n })
		return done
	})
}

// come waits until something has come.
func (r *round) come(when string, has func() bool) error {
	for late := time.Now().Add(patience); !has(); {
		if time.Now().After(late) {
			return &stuckError{when}
		}
		if err := r.wait(time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for a while, and returns why the round is to end.
func (r *round) wait(d time.Duration) error {
	select {
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-time.After(d):
		return nil
	}
}
