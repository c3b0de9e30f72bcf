package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A Fault is something that goes wrong in a round, again and again.
type Fault struct {
	Name string
	Doc  string // one sentence, without the full stop

	make     func(r *round) error
	quota    int64 // of the members
	goesBack bool  // the cluster loses commits
	client   bool  // it is about clients, and leaves the members alone
	alone    bool  // it is not mixed with others
	secured  bool  // members have TLS and users
	proxied  bool  // clients reach proxies
	rolls    bool  // clients have other programs
}

// Faults returns the faults, in the order in which they are listed; the last one mixes them.
func Faults() []Fault {
	return append(single(), Fault{Name: "mixed", Doc: "Those before full, one of members and one of clients at once",
		make: (*round).mix})
}

func single() []Fault {
	return []Fault{
		{Name: "none", Doc: "Nothing goes wrong", make: func(r *round) error { return r.wait(time.Second) }},
		{Name: "leader-killed", Doc: "The leader gets a SIGKILL, and comes back",
			make: (*round).killLeader},
		{Name: "leader-stopped", Doc: "The leader gets a SIGSTOP, and goes on later",
			make: (*round).stopLeader},
		{Name: "leader-cut", Doc: "The leader is cut off from the other members; clients reach all",
			make: (*round).cutLeader},
		{Name: "one-way", Doc: "What a member sends to others does not arrive, or theirs to it",
			make: (*round).cutOneWay},
		{Name: "member-wiped", Doc: "A member loses its data, and is added again",
			make: (*round).wipe},
		{Name: "minority", Doc: "A client reaches one member only, which is cut off from the others",
			client: true, make: (*round).minority},
		{Name: "answers-lost", Doc: "What a client sends arrives, and its answers do not",
			client: true, make: (*round).loseAnswers},
		{Name: "requests-late", Doc: "What a client sends to one member comes late, mostly after it has been given up",
			client: true, make: (*round).delayRequests},
		{Name: "client-killed", Doc: "A client gets a SIGKILL amid its commits",
			client: true, make: (*round).killClient},
		{Name: "client-stopped", Doc: "A client gets a SIGSTOP amid its commits, and goes on later",
			client: true, make: (*round).stopClient},
		{Name: "compacted", Doc: "A client is cut off, and the history is compacted meanwhile",
			client: true, make: (*round).compact},
		{Name: "full", Doc: "The cluster has no space, and gets some", alone: true, quota: 24 << 20,
			make: (*round).fill},
		{Name: "restored", Doc: "All members go back to an old copy, also with revisions that go on",
			alone: true, goesBack: true, make: (*round).restore},
		{Name: "secured", Doc: "Auth and TLS: members have certificates, and the password of the clients changes",
			alone: true, secured: true, make: (*round).changePassword},
		{Name: "proxy-killed", Doc: "Clients reach the members by grpc-proxy, which gets a SIGKILL and comes back",
			alone: true, proxied: true, make: (*round).killProxy},
		{Name: "neighbours", Doc: "Databases beside that of the clients are written, and all is compacted",
			alone: true, make: (*round).writeBeside},
		{Name: "rolling", Doc: "Each client becomes an older or a newer one of three versions of the program",
			alone: true, rolls: true, make: (*round).changeProgram},
	}
}

func faultByName(name string) (Fault, bool) {
	for _, f := range Faults() {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}

// FaultNames returns the names of all faults.
func FaultNames() (names []string) {
	for _, f := range Faults() {
		names = append(names, f.Name)
	}
	return names
}

// mix makes a fault of the members and one of the clients at the same time.
func (r *round) mix() error {
	var sides [2][]Fault
	for _, f := range single() {
		switch {
		case f.alone:
		case f.client:
			sides[1] = append(sides[1], f)
		default:
			sides[0] = append(sides[0], f)
		}
	}
	errs := make(chan error, len(sides))
	for _, side := range sides {
		f := side[r.rand.IntN(len(side))]
		// minority and wiped members would leave no majority, for longer than anybody waits.
		if f.Name == "minority" {
			f, _ = faultByName("answers-lost")
		}
		seed := r.rand.Uint64()
		go func() { errs <- f.make(r.with(seed)) }()
	}
	err := errors.Join(<-errs, <-errs)
	r.net.Heal()
	return err
}

// leader returns the member that leads.
func (r *round) leader() (i int, err error) {
	_ = r.come("", func() bool {
		i, err = r.cluster.Leader(r.ctx)
		return err == nil
	})
	return i, err
}

// others returns the members but one.
func others(i int) (list []int) {
	for j := range members {
		if j != i {
			list = append(list, j)
		}
	}
	return list
}

// settle waits for some commits, and then for up to some time.
func (r *round) settle(when string, most time.Duration) error {
	if err := r.commitsMore(20, when); err != nil {
		return err
	}
	return r.wait(r.between(0, most))
}

func (r *round) killLeader() error {
	i, err := r.leader()
	if err != nil {
		return err
	}
	if err := r.cluster.Kill(i); err != nil {
		return err
	}
	if err := r.settle("after the leader was killed", time.Second); err != nil {
		return err
	}
	if err := r.cluster.Run(i); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	return r.cluster.Wait(ctx)
}

func (r *round) between(low, high time.Duration) time.Duration {
	return low + time.Duration(r.rand.Int64N(int64(high-low)))
}

func (r *round) stopLeader() error {
	i, err := r.leader()
	if err != nil {
		return err
	}
	return r.standStill(r.cluster.Pid(i))
}

func (r *round) stopClient() error {
	r.mu.Lock()
	c := r.running[r.rand.IntN(clients)]
	r.mu.Unlock()
	return r.standStill(c.cmd.Process.Pid)
}

// standStill stops a process, and has it go on when others have committed something.
func (r *round) standStill(pid int) error {
	if err := hold(pid, true); err != nil {
		return err
	}
	err := r.settle("while a process stood still", 4*time.Second)
	return errors.Join(err, hold(pid, false))
}

func (r *round) cutLeader() error {
	i, err := r.leader()
	if err != nil {
		return err
	}
	r.net.Part(i, others(i)...)
	defer r.net.Heal()
	return r.settle("while the leader was cut off", 2*time.Second)
}

func (r *round) cutOneWay() error {
	i, err := r.leader()
	if err != nil {
		return err
	}
	if r.rand.IntN(3) == 0 {
		i = r.rand.IntN(members)
	}
	if r.rand.IntN(2) == 0 {
		r.net.Cut(i, others(i)...)
	} else {
		for _, j := range others(i) {
			r.net.Cut(j, i)
		}
	}
	defer r.net.Heal()
	return r.wait(r.between(time.Second, 4*time.Second)) // there may be no leader as long as that
}

func (r *round) wipe() error {
	i := r.rand.IntN(members)
	if err := r.cluster.Kill(i); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	return r.cluster.Renew(ctx, i)
}

func (r *round) minority() error {
	i, c := r.rand.IntN(members), -1-r.rand.IntN(clients)
	r.net.Part(i, others(i)...)
	r.net.Part(c, others(i)...)
	defer r.net.Heal()
	return r.settle("of the clients that reach the majority", 3*time.Second)
}

func (r *round) loseAnswers() error {
	c := -1 - r.rand.IntN(clients)
	for i := range members {
		r.net.Cut(i, c)
	}
	defer func() {
		r.net.Break(c) // answers under way are lost
		r.net.Heal()
	}()
	return r.wait(r.between(100*time.Millisecond, 3*time.Second))
}

func (r *round) delayRequests() error {
	c, i := -1-r.rand.IntN(clients), r.rand.IntN(members)
	defer r.net.Heal()
	// Requests are given up after two seconds, and their outcomes are found out.
	if r.rand.IntN(4) == 0 {
		r.net.Cut(c, i)
		return r.wait(r.between(time.Second, 5*time.Second))
	}
	r.net.Late(c, i)
	return r.wait(r.between(2300*time.Millisecond, 4*time.Second))
}

func (r *round) killClient() error {
	i := r.rand.IntN(clients)
	r.kill(i)
	return r.run(i)
}

func (r *round) compact() error {
	c := -1 - r.rand.IntN(clients)
	r.net.Part(c, others(-1)...)
	defer func() {
		r.net.Break(c) // with the events of its watch
		r.net.Heal()
	}()
	if err := r.commitsMore(20, "of the other clients"); err != nil {
		return err
	}
	return r.withClient(compactAll)
}

// compactAll compacts the history up to now.
func compactAll(ctx context.Context, client *clientv3.Client) error {
	got, err := client.Get(ctx, "x")
	if err == nil {
		_, err = client.Compact(ctx, got.Header.Revision, clientv3.WithCompactPhysical())
	}
	return err
}

// withClient calls f with a client of the cluster, again if that fails: members may look for a leader.
func (r *round) withClient(f func(ctx context.Context, client *clientv3.Client) error) error {
	client, err := r.cluster.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	_ = r.come("", func() bool {
		ctx, cancel := context.WithTimeout(r.ctx, 5*time.Second)
		defer cancel()
		err = f(ctx, client)
		return err == nil
	})
	return err
}

const filler = "filler/"

// fill writes until the cluster is full, and clients have noticed; then it makes space.
func (r *round) fill() error {
	seen := r.full.Load()
	client, err := r.cluster.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	text := string(make([]byte, 512<<10))
	i := 0
	if err := r.come("and the cluster has not got full", func() bool {
		ctx, cancel := context.WithTimeout(r.ctx, 2*time.Second)
		defer cancel()
		_, _ = client.Put(ctx, fmt.Sprint(filler, i%8), text)
		i++
		return r.full.Load() != seen
	}); err != nil {
		return err
	}
	if err := r.wait(r.between(0, time.Second)); err != nil {
		return err
	}
	return r.withClient(func(ctx context.Context, client *clientv3.Client) error {
		// It is full for deletes, too, but not for compaction.
		err := compactAll(ctx, client)
		if err != nil && !errors.Is(err, rpctypes.ErrCompacted) { // it was, by a request without an answer
			return err
		}
		for _, endpoint := range r.cluster.Endpoints() {
			if _, err := client.Defragment(ctx, endpoint); err != nil {
				return err
			}
		}
		if _, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
			return err
		}
		_, err = client.Delete(ctx, filler, clientv3.WithPrefix())
		return err
	})
}

// goOn has clients go on that wait since the cluster went back.
func (r *round) goOn() {
	if r.waiting.Swap(false) {
		r.each(func(c *running) { _, _ = c.words.Write([]byte(wordGoOn)) })
	}
}

// restore has the cluster go back, and waits until all replicas have noticed.
func (r *round) restore() error {
	dir, err := os.MkdirTemp(r.dir, "copy")
	if err != nil {
		return err
	}
	members, saved := filepath.Join(dir, "members"), filepath.Join(dir, "saved")
	bump := r.rand.IntN(2) == 0 && r.Server == ""
	if bump {
		if err := r.cluster.Save(r.ctx, saved); err != nil {
			return err
		}
	}
	if err := r.cluster.Copy(members); err != nil {
		return err
	}
	// So many that the cluster does not get as far again before all have noticed, see O5 in etcd/slots.go.
	if err := r.commitsOfEach(100, "after the members were copied"); err != nil {
		return err
	}
	lost := r.lost.Load() + clients
	if bump {
		// Who loads everything anew after others have written compares too little, see docs/scale-out.md.
		r.waiting.Store(true)
		defer r.goOn()
		err = r.cluster.RestoreBumped(saved, 1_000_000)
	} else {
		err = r.cluster.Restore(members)
	}
	if err != nil {
		return err
	}
	err = r.come("and not all replicas have noticed that the cluster went back", func() bool {
		return r.lost.Load() >= lost
	})
	if err != nil {
		return err
	}
	r.goOn()
	// The history begins anew, with lists of which the old one has nothing.
	r.mu.Lock()
	r.from = generation(r.start) + 2
	r.mu.Unlock()
	if err := r.come("and lists are old", func() bool { return generation(r.start) >= r.from }); err != nil {
		return err
	}
	return r.commitsMore(300, "after all replicas were opened anew")
}
