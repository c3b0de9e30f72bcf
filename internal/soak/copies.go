package soak

import (
	"bytes"
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

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// copies is a round that keeps copies: transactions over two tables of accounts and one of notes
// that expire, and beside them a watch, backups and a journal.
type copies struct {
	tables
	r      Round
	target Target
	stop   atomic.Bool   // the writers end
	rest   atomic.Uint64 // the last epoch, once all writers have ended
	audits atomic.Int64
}

// tables are those of one database. Keys are numbers, values amounts; in notes the values are the
// times at which they expire.
type tables struct {
	db                 *mvcc.DB
	left, right, notes *mvcc.Map[int, int64]
}

func newTables(options *mvcc.Options) tables {
	db := mvcc.NewDB(options)
	return tables{db,
		mvcc.NewTable[int, int64](db, "left", nil),
		mvcc.NewOrderedTable[int, int64](db, "right", nil),
		mvcc.NewTable[int, int64](db, "notes", nil)}
}

// A state is what is in the tables.
type state struct{ left, right, notes map[int]int64 }

func (t tables) at(s mvcc.DBSnapshot) state {
	return state{maps.Collect(t.left.At(s).All()), maps.Collect(t.right.At(s).All()),
		maps.Collect(t.notes.At(s).All())}
}

func (t tables) now() state {
	s := t.db.Snapshot()
	defer s.Close()
	return t.at(s)
}

// sum is what is in all accounts.
func (s state) sum() (sum int64) {
	for _, accounts := range []map[int]int64{s.left, s.right} {
		for _, v := range accounts {
			sum += v
		}
	}
	return sum
}

// audit compares a copy with what was there.
func (c *copies) audit(by string, copied, want state) error {
	c.audits.Add(1)
	if c.target.Copied != nil {
		c.target.Copied(by, copied.left)
	}
	for _, t := range []struct {
		name         string
		copied, want map[int]int64
	}{{"left", copied.left, want.left}, {"right", copied.right, want.right},
		{"notes", copied.notes, want.notes}} {
		if !maps.Equal(t.copied, t.want) {
			return fmt.Errorf("%s: table %s was %v, and its copy is %v", by, t.name, t.want, t.copied)
		}
	}
	if is, sum := copied.sum(), int64(2*c.r.Keys*opening); is != sum {
		return fmt.Errorf("%s: there is %d in all accounts, not %d", by, is, sum)
	}
	return nil
}

// doCopies keeps copies beside writers, and compares.
func (t Target) doCopies(ctx context.Context, r Round) Outcome {
	c := &copies{tables: newTables(r.Options()), r: r, target: t}
	defer c.db.Close()
	defer context.AfterFunc(ctx, func() { c.stop.Store(true) })()
	for k := range r.Keys {
		c.left.Store(k, opening)
		c.right.Store(k, opening)
	}
	c.notes.Expire(func(_ int, at int64) time.Time { return time.Unix(0, at) })
	dir, err := os.MkdirTemp("", "mvcc-copies-")
	if err != nil {
		return Outcome{Violation: failed(err)}
	}
	defer os.RemoveAll(dir)
	j, err := journal.Open(context.Background(), dir, c.db, codec.Gob,
		&journal.Options{Compact: 50_000, Every: -1})
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

// An ending is what a writer has done.
type ending struct{ committed, aborted int }

// write moves amounts between the tables, and writes notes that soon expire.
func (c *copies) write(i int, j *journal.Journal, e *ending) error {
	random := rand.New(rand.NewPCG(c.r.Seed, uint64(i)+1))
	for n := 0; n < max(c.r.Size/c.r.Workers, 1) && !c.stop.Load(); n++ {
		from, to, note := random.IntN(c.r.Keys), random.IntN(c.r.Keys), random.IntN(4*c.r.Keys)
		amount, what, lives := random.Int64N(100), random.IntN(4),
			time.Duration(random.IntN(40))*time.Millisecond
		tries := 0
		err := c.db.Update(context.Background(), c.r.level(random), func(tx mvcc.DBTx) error {
			tries++
			left, right := c.left.In(tx), c.right.In(tx)
			x, _ := left.Get(from)
			y, _ := right.Get(to)
			left.Set(from, x-amount)
			right.Set(to, y+amount)
			switch what {
			case 0:
				c.notes.In(tx).Set(note, time.Now().Add(lives).UnixNano())
			case 1:
				c.notes.In(tx).Delete(note)
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

// settle waits until all notes have expired, and tells follow that nothing more comes.
func (c *copies) settle() error {
	for end := time.Now().Add(restPatience); c.notes.Len() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d records have not expired after %v", c.notes.Len(), restPatience)
		}
	}
	c.rest.Store(c.db.Epoch())
	return nil
}

// follow keeps a copy by a watch, until nothing more comes.
func (c *copies) follow() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			c.db.RequestProgress()
		}
	}()
	for {
		s := c.db.Snapshot()
		commits := c.db.Watch(ctx, &mvcc.DBWatchOptions{Since: s, Buffer: 1000, Progress: true})
		copied := c.at(s)
		s.Close()
		for commit, err := range commits {
			switch {
			case errors.Is(err, mvcc.ErrGap):
			case err != nil:
				return err
			case !commit.Progress:
				if err := c.apply(commit, copied); err != nil {
					return fmt.Errorf("the watch: epoch %d: %w", commit.Epoch, err)
				}
			case c.rest.Load() != 0 && commit.Epoch >= c.rest.Load():
				return c.audit("the watch", copied, c.now())
			}
		}
	}
}

// apply makes the changes of a commit in a copy. It must be in the state that they were made in.
func (c *copies) apply(commit mvcc.DBCommit, copied state) error {
	now := time.Now().Add(clockSlack).UnixNano()
	sum := int64(0)
	for _, t := range []struct {
		of     *mvcc.Map[int, int64]
		copied map[int]int64
	}{{c.left, copied.left}, {c.right, copied.right}, {c.notes, copied.notes}} {
		for _, ch := range t.of.Changes(commit) {
			if was, had := t.copied[ch.Key]; had != ch.Had || was != ch.Old {
				return fmt.Errorf("key %d of %s was %d, %t, and has changed from %d, %t", ch.Key, t.of.Name(),
					was, had, ch.Old, ch.Had)
			}
			if t.copied[ch.Key] = ch.New; !ch.Has {
				delete(t.copied, ch.Key)
			}
			if t.of != c.notes {
				sum += ch.New - ch.Old
			}
			if commit.Expired && (t.of != c.notes || ch.Has || ch.Old > now) {
				return fmt.Errorf("key %d of %s has expired before its time: %+v", ch.Key, t.of.Name(), ch)
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
		over = c.rest.Load() != 0
		var b bytes.Buffer
		s := c.db.Snapshot()
		want := c.at(s)
		_, err := c.db.Save(context.Background(), &b, codec.Gob, &mvcc.SaveOptions{Of: s})
		s.Close()
		if err != nil {
			return fmt.Errorf("a backup: %w", err)
		}
		loaded := newTables(nil)
		if _, err = loaded.db.Load(context.Background(), &b, codec.Gob, nil); err == nil {
			err = c.audit("a backup", loaded.now(), want)
		}
		loaded.db.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// reopen loads what the journal has kept.
func (c *copies) reopen(dir string) error {
	loaded := newTables(nil)
	defer loaded.db.Close()
	j, err := journal.Open(context.Background(), dir, loaded.db, codec.Gob, nil)
	if err != nil {
		return err
	}
	defer j.Close()
	return c.audit("the journal", loaded.now(), c.now())
}
