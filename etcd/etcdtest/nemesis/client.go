package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/etcd/etcdtest"
	"github.com/mvccmap/mvccmap/internal/proof/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

const environment = "MVCCMAP_NEMESIS_CLIENT"

// Main runs a client or a member, and does not return, if the process was started for that. A program
// that calls [Run] calls it first of all.
func Main() {
	etcdtest.Main()
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	signal.Ignore(os.Interrupt) // a terminal sends it to all; the program says when it ends
	if err := runClient(text); err != nil {
		fmt.Fprintln(os.Stderr, "nemesis: a client has ended:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// wordGoOn tells a client to open another replica.
const wordGoOn = "go on\n"

// An order is the configuration of a client.
type order struct {
	access
	Number int // no other client of the round has it
	Seed   uint64
	Start  int64 // of the round, by now
	// MayLose says that the cluster will go back.
	MayLose bool
}

// A line is a report of a client.
type line struct {
	// Begin is a transaction that is about to be tried: its appends. End is the same, once it has
	// ended, with its reads.
	Begin *history.Tx `json:",omitempty"`
	End   *history.Tx `json:",omitempty"`
	// Unknown says of End that it may have been committed.
	Unknown bool `json:",omitempty"`
	// At is when something was committed.
	At int64 `json:",omitempty"`
	// Wrong describes a violation.
	Wrong string `json:",omitempty"`
	// Lost says that the replica has noticed that the cluster went back. Another one is opened when the
	// client is told to go on.
	Lost bool `json:",omitempty"`
	// Full says that the cluster had no space.
	Full bool `json:",omitempty"`
	// Stopped says that nothing is under way any more, and Final describes the state at the end.
	Stopped bool   `json:",omitempty"`
	Final   *final `json:",omitempty"`
}

// A final is the last report of a client.
type final struct {
	Revision uint64
	Hash     string
	Stats    etcd.Stats
	Longest  time.Duration // that a view took
}

// A client runs workers on a replica, and reports on their transactions.
type client struct {
	order
	mu  sync.Mutex
	out *os.File
	at  atomic.Pointer[replica]
	// opening is held while another replica is opened.
	opening sync.Mutex
	goOn    chan bool

	over            atomic.Bool
	values, longest atomic.Int64
}

// tell writes a line, which is out when it returns.
func (c *client) tell(l line) {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.out.Write(append(b, '\n')); err != nil {
		os.Exit(1) // nobody listens
	}
}

func runClient(text string) error {
	c := &client{out: os.Stdout, goOn: make(chan bool, 1)}
	if err := json.Unmarshal([]byte(text), &c.order); err != nil {
		return err
	}
	ctx := context.Background()
	words := make(chan string)
	go func() { // it does not survive the program that has started it
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if lines.Text()+"\n" == wordGoOn {
				c.goOn <- true
			} else {
				words <- lines.Text()
			}
		}
		os.Exit(1)
	}()
	r, err := open(ctx, c.access, time.Second)
	if err != nil {
		return err
	}
	c.at.Store(r)
	var work sync.WaitGroup
	for i, f := range []func(*worker){(*worker).append, (*worker).append, (*worker).book,
		(*worker).lease, (*worker).growForm, (*worker).stamp, (*worker).stamp, (*worker).stamp, (*worker).look} {
		w := &worker{client: c, process: 20*c.Number + i, numbers: map[int]int{},
			r: rand.New(rand.NewPCG(c.Seed, uint64(20*c.Number+i)))}
		work.Go(func() {
			for !c.over.Load() {
				f(w)
			}
		})
	}
	<-words // stop
	c.over.Store(true)
	work.Wait()
	c.tell(line{Stopped: true})
	<-words // the end
	r = c.replica()
	long, cancel := context.WithTimeout(ctx, patience*3/4)
	defer cancel()
	if _, err := r.Sync(long); err != nil { // with all leases: another client may have made some last
		return fmt.Errorf("at the end: Sync: %w", err)
	}
	for r.leases.due() > 0 {
		if long.Err() != nil {
			c.tell(line{Wrong: fmt.Sprintf("%d leases stay long after their time", r.leases.due())})
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	f := &final{Stats: r.Stats(), Longest: time.Duration(c.longest.Load())}
	if err := r.View(func(s mvcc.DBSnapshot) (err error) {
		f.Revision = s.Epoch()
		f.Hash, err = r.hash(s)
		return err
	}); err != nil {
		return err
	}
	c.tell(line{Final: f})
	return r.Close()
}

// replica returns the one that there is, or opens another one if the cluster went back.
func (c *client) replica() *replica {
	c.opening.Lock()
	defer c.opening.Unlock()
	r := c.at.Load()
	why := r.Err()
	switch {
	case why == nil:
		return r
	case !c.MayLose || !errors.Is(why, etcd.ErrHistoryLost):
		c.tell(line{Wrong: fmt.Sprintf("the replica has failed: %v", why)})
		os.Exit(1)
	}
	_ = r.Close()
	c.tell(line{Lost: true})
	<-c.goOn
	r, err := open(context.Background(), c.access, time.Second)
	if err != nil {
		c.tell(line{Wrong: fmt.Sprintf("no other replica could be opened: %v", err)})
		os.Exit(1)
	}
	c.at.Store(r)
	return r
}

// An ending is the outcome of an Update.
type ending int

const (
	committed ending = iota
	refused          // nothing was committed
	unknown
	narrow // refused, since a program with fewer fields would lose something
)

// update runs an Update, and tells of it.
func (c *client) update(r *replica, fn func(tx mvcc.DBTx) error) ending {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := r.Update(ctx, nil, fn)
	switch {
	case err == nil:
		c.tell(line{At: now()})
		if ctx.Err() != nil {
			return unknown // it was committed, but this process may not have applied it
		}
		return committed
	case errors.Is(err, etcd.ErrOutcomeUnknown):
		return unknown
	case c.Program < newest && errors.As(err, new(*etcd.SchemaError)):
		return narrow
	case errors.Is(err, etcd.ErrNoSpace):
		c.tell(line{Full: true})
	case errors.Is(err, mvcc.ErrConflict), errors.Is(err, etcd.ErrUnanswered), ctx.Err() != nil,
		c.MayLose && errors.Is(err, etcd.ErrHistoryLost), errors.As(err, new(*mvcc.UniqueError)),
		c.Secrets != "" && errors.Is(err, rpctypes.ErrAuthFailed): // the password changes just now
	default:
		c.tell(line{Wrong: fmt.Sprintf("an Update has failed: %v", err)})
	}
	time.Sleep(10 * time.Millisecond)
	return refused
}
