package durable

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// groupPause is how long the writer rests after a group, unless a Sync waits, so that groups have
// more than a few commits. longestRetry is the longest that it rests after failures.
const (
	groupPause   = 5 * time.Millisecond
	longestRetry = 10 * time.Second
)

// run is the goroutine of the journal. It tells begun when later commits can be kept: after a backup
// on disk, or where none is needed; in a folder with files also after a failed write, which is tried
// again.
func (j *Journal) run(begun chan<- error) {
	defer close(j.ended)
	retry, first := j.retry, true
	for last := j.found.last; j.ctx.Err() == nil; {
		w := &writer{j: j, number: last}
		w.based = func() {
			if retry = j.retry; first {
				first = false
				begun <- nil
			}
		}
		err := error(nil)
		if !first {
			err = j.relock()
		}
		if err == nil {
			err = w.follow()
		}
		last = w.number
		if first && (j.found.from == 0 || err == nil) {
			begun <- err
			return
		}
		if w.gap {
			j.mu.Lock()
			j.stats.Gaps++
			j.mu.Unlock()
		}
		if err == nil { // only a gap
			continue
		}
		if j.ctx.Err() != nil {
			break
		}
		if j.fail(err); first {
			first = false
			begun <- nil
		}
		j.pause(retry, func() bool { return false })
		retry = min(2*retry, longestRetry)
	}
	if first {
		begun <- j.ctx.Err()
	}
	j.release(0, ErrClosed)
}

// fail tells the waiters that something cannot be written.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	j.err = err
	j.mu.Unlock()
	j.release(0, err)
	j.tell(err)
}

// tell tells the user of an error.
func (j *Journal) tell(err error) {
	j.mu.Lock()
	j.stats.Failures++
	j.mu.Unlock()
	j.report(err)
}

// release wakes the waiters for epochs up to e, or all if err is not nil. It reports whether others
// are left.
func (j *Journal) release(e uint64, err error) (more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for done, epoch := range j.waiting {
		if err != nil || epoch <= e {
			done <- err
			delete(j.waiting, done)
		}
	}
	j.asked = len(j.waiting) > 0
	return j.asked
}

// A writer writes journals, from a backup on, until there is a gap, or something fails. Its
// methods are called by one goroutine.
type writer struct {
	j      *Journal
	number uint64 // of the journal
	based  func() // is called once, when there is a backup to go on from

	file    file
	after   Backup // where the written commits lead to
	written int64  // since the backup
	compact int64  // at which length a new backup is taken
	lives   int    // journals since the backup
	unsure  bool   // the writes may not be on disk
	sure    uint64 // the epoch up to which all is on disk
	marked  uint64 // the epoch of the last mark
	safe    bool   // J3 holds for sure
	gap     bool   // commits were missed
	closed  bool   // a table was closed that is still in the backup
	life    string // of the database
	timer   *time.Timer

	backup *backup // that is being taken, or nil
	next   *backup // that will be taken when its epoch is reached, or nil
}

// mostLives is how many lives may follow a backup: each has a journal.
const mostLives = 64

// follow writes the commits, after the state found, or beginning with a backup.
func (w *writer) follow() (err error) {
	j := w.j
	ctx, cancel := context.WithCancel(j.ctx)
	b := j.snapshot()
	j.waits()
	defer func() { err = errors.Join(err, w.end(cancel)) }()
	var commits iter.Seq2[mvcc.DBCommit, error]
	err = b.of.Try(func() error {
		commits = j.door.WatchIn(&j.writing, ctx, mvcc.DBWatchOptions{Since: b.of,
			Buffer: j.opts.Buffer, Progress: true})
		return nil
	})
	if err == nil {
		err = w.base(ctx, b)
	}
	if err != nil {
		b.of.Close()
		return err
	}
	var group []mvcc.DBCommit
	for c, err := range commits {
		if errors.Is(err, mvcc.ErrGap) {
			w.gap = true
			return w.settle()
		}
		if err != nil {
			return err
		}
		if b := w.next; b != nil && (c.Epoch > b.epoch || c.Epoch == b.epoch && c.Progress) {
			if err := w.rotate(ctx, group); err != nil {
				return err
			}
			group = cleared(group)
		}
		w.closed = w.closed || c.Closed != ""
		if group = append(group, c); !c.Progress {
			continue
		}
		if len(group) > 1 {
			if err := w.write(group); err != nil {
				return err
			}
		}
		group = cleared(group)
		if err := w.progress(c.Epoch); err != nil {
			return err
		}
	}
	return nil
}

func cleared(group []mvcc.DBCommit) []mvcc.DBCommit {
	clear(group)
	return group[:0]
}

// base begins with a backup, unless the state found is that of now.
func (w *writer) base(ctx context.Context, b *backup) error {
	j := w.j
	f := &j.found
	switch {
	case f.same && f.state.matches(b.of, w.j.door.Tables(b.of)):
		return w.goOn(b)
	case f.from > 0 && !f.same:
		if err := j.keepBefore(f); err != nil {
			return err
		}
	}
	if err := w.begin(b, mvcc.Position{}); err != nil {
		return err
	}
	w.take(ctx, b)
	return nil
}

// goOn goes on from the state found.
func (w *writer) goOn(b *backup) error {
	j := w.j
	f := &j.found
	names := []string{backupName(f.from)}
	for _, n := range f.journals {
		names = append(names, journalName(n))
	}
	for _, name := range names { // J1: the last life may have been killed before they were on disk
		if err := j.sync(filepath.Join(j.dir, name)); err != nil {
			return err
		}
		if err := j.expect(name, f.from); err != nil {
			return err
		}
	}
	if err := w.begin(b, mvcc.Position{Life: f.state.DB, Epoch: f.state.Epoch}); err != nil {
		return err
	}
	b.of.Close()
	w.safe, w.written, w.lives = true, f.log, len(f.journals)
	w.compact = max(j.opts.Compact, f.backup)
	j.mu.Lock()
	j.err = nil
	j.mu.Unlock()
	w.based()
	j.tidy(f.from)
	return nil
}

// begin begins a journal with the state of a backup. after is the position that the journals before
// lead to, where they do.
func (w *writer) begin(b *backup, after mvcc.Position) (err error) {
	w.number++
	w.file, err = w.j.create(filepath.Join(w.j.dir, journalName(w.number)))
	w.written, w.sure, w.marked = 0, b.epoch, 0
	if err != nil {
		return err
	}
	at := w.j.db.Position(b.epoch)
	w.life = at.Life
	if err := (beginning{number: w.number, at: at, after: after}).write(w.file); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil { // before the backup is there, and before the rest
		return err
	}
	if err := w.name(b); err != nil {
		return err
	}
	return w.j.expect(journalName(w.number), w.number)
}

// name writes the first group: that of no commits, which names all tables. It need not be on disk
// before another one follows.
func (w *writer) name(b *backup) (err error) {
	to := bufio.NewWriterSize(w.file, 1<<16)
	w.after, err = Save(context.Background(), w.j.db, to, w.j.codec,
		&SaveOptions{Of: b.of, Since: b.of, Version: w.j.opts.Version})
	if err == nil {
		err = to.Flush()
	}
	return err
}

// write writes a group.
func (w *writer) write(group []mvcc.DBCommit) (err error) {
	w.j.waits()
	to := bufio.NewWriterSize(w.file, 1<<16)
	var refused []*CodecError
	w.after, err = saveCommits(context.Background(), w.j.db, to, w.j.codec, w.after, group,
		&SaveOptions{Version: w.j.opts.Version, coroutine: &w.j.writing, Refused: func(e *CodecError) {
			refused = append(refused, e)
		}})
	if err == nil {
		err = to.Flush()
	}
	if err != nil {
		return err
	}
	w.j.refuse(refused, false, w.after.Epoch)
	w.written += w.after.Bytes
	w.unsure = true
	j := w.j
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.Groups++
	j.stats.Bytes += uint64(w.after.Bytes)
	return nil
}

// sync brings all that was written, up to an epoch, to the disk.
func (w *writer) sync(to uint64) error {
	if w.unsure {
		if err := w.file.Sync(); err != nil {
			return err
		}
		w.unsure = false
		w.j.mu.Lock()
		w.j.stats.Syncs++
		w.j.mu.Unlock()
	}
	w.sure = to
	return nil
}

// progress is called when all up to an epoch was written.
func (w *writer) progress(to uint64) error {
	if err := w.look(); err != nil {
		return err
	}
	j := w.j
	in, now := j.due()
	if !w.unsure || w.safe && now {
		if err := w.sync(to); err != nil {
			return err
		}
	}
	if w.safe && w.sure == to {
		if err := w.acknowledge(); err != nil {
			return err
		}
	}
	if w.unsure && w.safe && j.opts.Every > 0 {
		w.askIn(in)
	}
	long := w.written >= w.compact || w.lives > mostLives
	if w.safe && w.backup == nil && w.next == nil && (w.closed || long) {
		w.closed, w.lives = false, 0
		w.next = j.snapshot()
		j.door.RequestProgress() // else it stays open until the next commit
	}
	j.pause(groupPause, func() bool { return j.hurry.Swap(false) })
	return nil
}

// pause waits for d, until cond, or for the end of the journal.
func (j *Journal) pause(d time.Duration, cond func() bool) {
	began := time.Now()
	defer time.AfterFunc(d, j.writing.Resume).Stop()
	j.writing.Await(func() bool { return cond() || j.ctx.Err() != nil || time.Since(began) >= d })
}

// acknowledge tells the waiters, and leaves a mark: J3 holds for sure.
func (w *writer) acknowledge() error {
	j := w.j
	j.mu.Lock()
	asked := len(j.waiting) > 0
	j.mu.Unlock()
	if asked || w.marked < w.after.Epoch {
		if err := j.present(); err != nil {
			return err
		}
		j.acknowledged = bound{number: w.number, epoch: w.after.Epoch, clock: w.sure, life: w.life}
		if err := j.acknowledged.write(j.bounds); err != nil {
			return err
		}
	}
	j.mu.Lock()
	j.stats.Epoch = w.sure
	j.since = time.Time{}
	j.mu.Unlock()
	if j.release(w.sure, nil) {
		j.door.RequestProgress()
	}
	if w.marked >= w.after.Epoch {
		return nil
	}
	w.marked = w.after.Epoch
	return writeMark(w.file, w.marked, w.life)
}

// settle is called when there is a gap. It ends the work under way, so that there is
// progress also if one gap follows the other.
func (w *writer) settle() error {
	if b := w.backup; b != nil {
		w.j.await(b)
	}
	if err := w.look(); err != nil || !w.safe {
		return err
	}
	if err := w.sync(max(w.sure, w.after.Epoch)); err != nil {
		return err
	}
	return w.acknowledge()
}

// rotate ends the journal with a group, and begins the next one with a backup.
func (w *writer) rotate(ctx context.Context, group []mvcc.DBCommit) error {
	b := w.next
	if err := w.write(append(group, mvcc.DBCommit{Epoch: b.epoch, Progress: true})); err != nil {
		return err
	}
	if err := w.sync(b.epoch); err != nil {
		return err
	}
	if err := w.file.Close(); err != nil {
		return err
	}
	if err := w.begin(b, w.j.db.Position(b.epoch)); err != nil {
		return err
	}
	w.next = nil
	w.take(ctx, b)
	w.marked = b.epoch
	return writeMark(w.file, b.epoch, w.life)
}

// askIn asks for progress in a while.
func (w *writer) askIn(d time.Duration) {
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.j.door.RequestProgress)
		return
	}
	w.timer.Reset(d)
}

// end ends the writer, and all that it has under way. It removes a journal that no backup leads to.
func (w *writer) end(cancel func()) (err error) {
	cancel()
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.next != nil {
		w.next.of.Close()
	}
	if b := w.backup; b != nil {
		w.j.await(b)
		failed := <-b.done
		if failed != nil && w.j.ctx.Err() == nil && !errors.Is(failed, context.Canceled) {
			err = failed // that it was given up is not why
		} else if failed == nil {
			w.safe = true
			w.j.refuse(b.refused, true, b.epoch) // it is the last one, if the journal is closed
		}
	}
	if w.file == nil {
		return err
	}
	err = errors.Join(err, w.file.Close())
	if !w.safe { // the backup first: it may be there although it could not be synced
		for _, name := range []string{backupName(w.number), journalName(w.number)} {
			gone := os.Remove(filepath.Join(w.j.dir, name))
			if gone != nil && !errors.Is(gone, os.ErrNotExist) {
				return errors.Join(err, gone)
			}
		}
	}
	return err
}
