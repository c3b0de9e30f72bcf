package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/etcd/etcdtest"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/cli"
	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/mvcc"
)

// figuresCmd is "etcdbench figures".
type figuresCmd struct {
	cluster *cluster

	Only     []string      `help:"Figures to measure; by default all." placeholder:"NAME" group:"What to measure"`
	Duration time.Duration `help:"How long each thing is measured, in slices that take turns with what it is compared with." default:"3s" placeholder:"TIME" group:"What to measure"`
	Records  int           `help:"How many records of 100 bytes a cold start loads." default:"1000000" placeholder:"N" group:"What to measure"`
}

// A figure is measured beside something.
type figure struct {
	name, doc string
	measure   func(f *figures) error
}

var allFigures = []figure{
	{"transfer", "two reads and two writes, beside the STM of clientv3/concurrency", replicated((*figures).transfer)},
	{"update", "a read and a write, beside a request with the same keys made by hand", replicated((*figures).update)},
	{"reads", "reads of a replica, beside those of a plain DB, idle and beside 1,000 commits a second",
		(*figures).reads},
	{"writers", "64 writers of keys of their own, beside requests made by hand", replicated((*figures).writers)},
	{"counter", "one counter, of 3 processes with 16 goroutines each, beside the STM", (*figures).counter},
	{"sync", "64 goroutines that Sync, beside linearizable Gets", replicated((*figures).sync)},
	{"lag", "how far a replica is behind, at 70 % of what writers can do", replicated((*figures).lag)},
	{"apply", "a replica that was cut off catches up", replicated((*figures).apply)},
	{"leader", "the leader gets a SIGKILL", replicated((*figures).leader)},
	{"start", "a replica is opened", (*figures).start},
}

// Help is what --help says of the command beside its flags.
func (c *figuresCmd) Help() string {
	var b strings.Builder
	b.WriteString("Measures module etcd beside etcd's own client and a plain DB, in turns, over three members on " +
		"this machine, and prints one table with the goals. It takes some minutes:\n")
	for _, f := range allFigures {
		fmt.Fprintf(&b, "  %-9s %s\n", f.name, f.doc)
	}
	return b.String()
}

// figures are what is measured, and what with.
type figures struct {
	*figuresCmd
	ctx       context.Context
	at        *place
	net       *etcdtest.Net
	rows      [][]string
	saturated float64 // commits a second, of 64 writers that read
}

// Run carries "etcdbench figures" out; the parser calls it.
func (c *figuresCmd) Run(e *cli.Env) error {
	var names []string
	for _, f := range allFigures {
		names = append(names, f.name)
	}
	if len(c.Only) == 0 {
		c.Only = names
	}
	switch {
	case c.Duration <= 0:
		return cli.UsageError(fmt.Errorf("--duration: expected a time above 0, not %v", c.Duration))
	case c.Records < 1:
		return cli.UsageError(fmt.Errorf("--records: expected a number of 1 or more, not %d", c.Records))
	case len(c.cluster.Endpoints) > 0:
		return cli.UsageError(errors.New("--endpoints: expected none: a member is killed"))
	}
	if err := cli.CheckNames("--only", "figure", c.Only, names); err != nil {
		return err
	}
	at, err := c.cluster.place()
	if err != nil {
		return err
	}
	f := &figures{figuresCmd: c, ctx: e.Context(), at: at, net: etcdtest.NewNet(),
		rows: [][]string{{"figure", "of module etcd", "beside", "", "ratio", "goal", ""}}}
	defer f.net.Close()
	for _, one := range allFigures {
		if !slices.Contains(c.Only, one.name) {
			continue
		}
		fmt.Fprintf(e.Stderr(), "%s: %s\n", one.name, one.doc)
		if err = one.measure(f); err != nil {
			err = fmt.Errorf("%s: %w", one.name, err)
			break
		}
	}
	if len(f.rows) > 1 {
		err = errors.Join(err, results.Plain.Write(e.Stdout(), f.rows, func(column int) bool {
			return column == 0 || column == 2 || column == 6
		}))
	}
	return err
}

// A row is one figure: what was measured, beside what, and the goal of the ratio of the two: most, or
// least, if it is not 0.
type row struct {
	name         string
	is           float64
	beside       string
	besideIs     float64
	write        func(float64) string
	most, least  float64
	goalOfItself bool // the goal is of the figure, and not of the ratio
}

func (f *figures) add(r row) {
	ratio := r.is / r.besideIs
	cells := []string{r.name, r.write(r.is), r.beside, "", "", "", ""}
	judged := r.is
	if r.beside != "" {
		cells[3], cells[4] = r.write(r.besideIs), fmt.Sprintf("%.2f x", ratio)
		if ratio >= 100 {
			cells[4] = fmt.Sprintf("%.0f x", ratio)
		}
	}
	goal := func(v float64) string { return r.write(v) }
	if !r.goalOfItself {
		judged, goal = ratio, func(v float64) string { return fmt.Sprintf("%v x", v) }
	}
	word := map[bool]string{true: "reached", false: "MISSED"}
	switch {
	case r.most != 0 || r.goalOfItself && r.least == 0:
		cells[5], cells[6] = "<= "+goal(r.most), word[judged <= r.most]
	case r.least != 0:
		cells[5], cells[6] = ">= "+goal(r.least), word[judged >= r.least]
	}
	f.rows = append(f.rows, cells)
}

func duration(v float64) string { return brief.Time(time.Duration(v)) }
func perSecond(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.0f/s", v)
	}
	return brief.Count(int(v)) + "/s"
}

// turns is how often things that are compared take turns.
const turns = 4

// inTurns calls each function for a part of the duration, in turns.
func (f *figures) inTurns(all ...func(d time.Duration) error) error {
	for range turns {
		for _, do := range all {
			if err := do(f.Duration / turns); err != nil {
				return err
			}
		}
	}
	return f.ctx.Err()
}

// latencies are how long calls took.
type latencies []time.Duration

// measure calls do again and again, for some time.
func (l *latencies) measure(do func() error) func(d time.Duration) error {
	return func(d time.Duration) error {
		for until := time.Now().Add(d); time.Now().Before(until); {
			began := time.Now()
			if err := do(); err != nil {
				return err
			}
			*l = append(*l, time.Since(began))
		}
		return nil
	}
}

// at returns a percentile, in nanoseconds.
func (l latencies) at(percent int) float64 {
	slices.Sort(l)
	return float64(l[min(len(l)*percent/100, len(l)-1)])
}

// replicated is a measurement that is given a replica.
func replicated(measure func(f *figures, r *replica[uint64]) error) func(f *figures) error {
	return func(f *figures) error {
		r, err := f.numbers()
		if err != nil {
			return err
		}
		defer stop(r.db)
		return measure(f, r)
	}
}

// numbers is a replica with a table of numbers.
func (f *figures) numbers() (*replica[uint64], error) { return openReplica[uint64](f.at, false, 0) }

// stop makes nothing of an error of a replica that has served its purpose.
func stop(db *etcd.DB) { _ = db.Close() }

// put writes n records with some value, by transactions of 100.
func put[V any](r *replica[V], n int, name func(i int) string, value V) error {
	return fill(n, func(low, high int) error {
		return r.db.Update(r.at.cluster.ctx, func(tx mvcc.DBTx) error {
			for i := low; i < high; i++ {
				r.table.In(tx).Set(name(i), value)
			}
			return nil
		})
	})
}

func name(i int) string { return fmt.Sprintf("key-%07d", i) }

// key returns the name of a key that no table has.
func (f *figures) key(name string) string { return f.at.prefix + "raw/" + name }

// again puts a key that was put last at a revision, and compares that. It changes that to its own.
func (f *figures) again(key string, rev *int64) error {
	resp, err := f.at.client.Txn(f.ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", *rev)).
		Then(clientv3.OpPut(key, "12345678")).Commit()
	if err == nil && !resp.Succeeded {
		err = fmt.Errorf("%s has not revision %d", key, *rev)
	}
	if err == nil {
		*rev = resp.Header.Revision
	}
	return err
}
