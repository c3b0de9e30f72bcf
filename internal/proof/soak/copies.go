package soak

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// copies is a round that keeps copies: transactions over two tables of accounts and one of notes
// that expire, and beside them a watch, backups and a journal.
type copies struct {
	tables
	r      Round
	target Target
	stop   atomic.Bool // the writers end
	rest   atomic.Bool // all writers have ended, and the last record is written
	audits atomic.Int64
}

const (
	left = iota
	right
	notes // values are the times at which they expire
)

// last is the key of the last record of the left accounts.
const last = -1

// tables are those of one database.
type tables struct {
	db *mvcc.DB
	of [3]*mvcc.Map[int, int64]
}

func newTables(options *mvcc.Options) tables {
	db := mvcc.NewDB(options)
	return tables{db, [3]*mvcc.Map[int, int64]{
		mvcc.NewTable[int, int64](db, "left", nil),
		mvcc.NewOrderedTable[int, int64](db, "right", nil),
		mvcc.NewTable[int, int64](db, "notes", nil)}}
}

// A state is the contents of the tables.
type state [3]map[int]int64

func (t tables) contentsAt(s mvcc.DBSnapshot) (all state) {
	for i, table := range t.of {
		all[i] = maps.Collect(table.At(s).All())
	}
	return all
}

func (t tables) contentsNow() state {
	s := t.db.Snapshot()
	defer s.Close()
	return t.contentsAt(s)
}

// audit compares a copy with the tables.
func (c *copies) audit(by string, copied, want state) error {
	c.audits.Add(1)
	if c.target.Copied != nil {
		c.target.Copied(by, copied[left])
	}
	sum := -int64(2 * c.r.Keys * opening)
	for i, t := range c.of {
		if !maps.Equal(copied[i], want[i]) {
			return fmt.Errorf("%s: table %s was %v, and its copy is %v", by, t.Name(), want[i], copied[i])
		}
		for _, v := range copied[i] {
			if i != notes {
				sum += v
			}
		}
	}
	if sum != 0 {
		return fmt.Errorf("%s: there is %d too much in all accounts", by, sum)
	}
	return nil
}

// doCopies keeps copies beside writers, and compares.
func (t Target) doCopies(ctx context.Context, r Round) Outcome {
	c := &copies{tables: newTables(r.Options()), r: r, target: t}
	defer c.db.Close()
	defer context.AfterFunc(ctx, func() { c.stop.Store(true) })()
	for k := range r.Keys {
		c.of[left].Store(k, opening)
		c.of[right].Store(k, opening)
	}
	c.of[notes].Expire(func(_ int, at int64) time.Time { return time.Unix(0, at) })
	dir, err := os.MkdirTemp("", "mvcc-copies-")
	if err != nil {
		return Outcome{Violation: failed(err)}
	}
	defer os.RemoveAll(dir)
	j, err := durable.Open(context.Background(), c.db, dir, &durable.Options{Compact: 50_000, Every: -1})
	if err != nil {
		return Outcome{Violation: failed(err)}
	}
	var keepers, writers together
	keepers.begin(c.follow)
	keepers.begin(c.backUp)
	ends := make([]ending, r.Workers)
	for i := range ends {
		writers.begin(func() error { return c.write(i, j, &ends[i]) })
	}
	err = errors.Join(writers.wait(), c.settle(), keepers.wait(), j.Close(), c.reopen(dir))
	o := Outcome{Totals: Totals{Audits: int(c.audits.Load())}}
	for _, e := range ends {
		o.Transactions += e.committed
		o.Aborted += e.aborted
	}
	o.Operations = 4 * o.Transactions
	if err != nil {
		o.Violation = &Violation{Summary: "a copy is wrong", Detail: err.Error()}
	}
	return o
}

// together are goroutines that may fail.
type together struct {
	sync.WaitGroup
	mu  sync.Mutex
	err error
}

func (g *together) begin(f func() error) {
	g.Go(func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			g.err = errors.Join(g.err, err)
		}()
		err = f()
	})
}

func (g *together) wait() error {
	g.Wait()
	return g.err
}

// An ending has the work of a writer.
type ending struct{ committed, aborted int }

// write moves amounts between the tables, and writes notes that soon expire.
func (c *copies) write(i int, j *durable.Journal, e *ending) error {
	random := rand.New(rand.NewPCG(c.r.Seed, uint64(i)+1))
	for n := 0; n < max(c.r.Size/c.r.Workers, 1) && !c.stop.Load(); n++ {
		from, to, note := random.IntN(c.r.Keys), random.IntN(c.r.Keys), random.IntN(4*c.r.Keys)
		amount, what, lives := random.Int64N(100), random.IntN(4),
			time.Duration(random.IntN(40))*time.Millisecond
		tries := 0
		err := c.db.Update(context.Background(), c.r.level(random), func(tx mvcc.DBTx) error {
			tries++
			x, _ := c.of[left].In(tx).Get(from)
			y, _ := c.of[right].In(tx).Get(to)
			c.of[left].In(tx).Set(from, x-amount)
			c.of[right].In(tx).Set(to, y+amount)
			switch what {
			case 0:
				c.of[notes].In(tx).Set(note, time.Now().Add(lives).UnixNano())
			case 1:
				c.of[notes].In(tx).Delete(note)
			}
			return nil
		})
		switch {
		case errors.Is(err, mvcc.ErrConflict):
			e.aborted += tries
			continue
		case err != nil:
			return err
		}
		e.committed++
		e.aborted += tries - 1
		if random.IntN(500) == 0 {
			if err := j.Sync(context.Background()); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle waits until all notes have expired, and writes the last record.
func (c *copies) settle() error {
	defer c.rest.Store(true)
	defer c.of[left].Store(last, 0)
	for end := time.Now().Add(restPatience); c.of[notes].Len() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d records have not expired after %v", c.of[notes].Len(), restPatience)
		}
	}
	return nil
}

// errLast ends a watch: it has come to the last record.
var errLast = errors.New("soak: the last record")

// follow keeps a copy by a watch, up to the last record.
func (c *copies) follow() error {
	var copied state
	atEnd := func() error {
		if _, ok := copied[left][last]; !ok {
			return nil
		}
		return cmp.Or(c.audit("the watch", copied, c.contentsNow()), errLast)
	}
	err := c.db.Follow(context.Background(), &mvcc.FollowOptions{Buffer: 1000},
		func(s mvcc.DBSnapshot) error {
			copied = c.contentsAt(s)
			return atEnd()
		}, func(commit mvcc.DBCommit) error {
			if err := c.apply(commit, copied); err != nil {
				return fmt.Errorf("the watch: epoch %d: %w", commit.Epoch, err)
			}
			return atEnd()
		})
	if err == errLast {
		return nil
	}
	return err
}

// apply makes the changes of a commit in a copy. It must be in the state that they were made in.
func (c *copies) apply(commit mvcc.DBCommit, copied state) error {
	now := time.Now().Add(clockSlack).UnixNano()
	sum := int64(0)
	for i, t := range c.of {
		for _, ch := range t.Changes(commit) {
			if was, had := copied[i][ch.Key]; had != ch.Had || was != ch.Old {
				return fmt.Errorf("key %d of %s was %d, %t, and has changed from %d, %t", ch.Key, t.Name(),
					was, had, ch.Old, ch.Had)
			}
			if copied[i][ch.Key] = ch.New; !ch.Has {
				delete(copied[i], ch.Key)
			}
			if i != notes {
				sum += ch.New - ch.Old
			}
			if commit.Expired && (i != notes || ch.Has || ch.Old > now) {
				return fmt.Errorf("key %d of %s has expired before its time: %+v", ch.Key, t.Name(), ch)
			}
		}
	}
	if sum != 0 {
		return fmt.Errorf("a commit adds %d to all accounts: it is not whole", sum)
	}
	return nil
}

// clockSlack is how far the wall clock may be set back between two looks at it.
const clockSlack = 5 * time.Millisecond

// backUp takes backups, and loads each elsewhere, until all writers have ended.
func (c *copies) backUp() error {
	for over := false; !over; time.Sleep(c.r.BackupInterval) {
		over = c.rest.Load()
		var b bytes.Buffer
		s := c.db.Snapshot()
		want := c.contentsAt(s)
		_, err := durable.Save(context.Background(), c.db, &b, durable.Gob, &durable.SaveOptions{Of: s})
		s.Close()
		if err != nil {
			return fmt.Errorf("a backup: %w", err)
		}
		loaded := newTables(nil)
		if _, err = durable.Load(context.Background(), loaded.db, &b, durable.Gob, nil); err == nil {
			err = c.audit("a backup", loaded.contentsNow(), want)
		}
		loaded.db.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// reopen loads the contents of the journal.
func (c *copies) reopen(dir string) error {
	loaded := newTables(nil)
	defer loaded.db.Close()
	j, err := durable.Open(context.Background(), loaded.db, dir, nil)
	if err != nil {
		return err
	}
	defer j.Close()
	return c.audit("the journal", loaded.contentsNow(), c.contentsNow())
}
