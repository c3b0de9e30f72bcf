package mvcc

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/trial"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// The part of maps and databases that package mvcctest knows: a trial is a part of the options. The
// methods of a *strict may be called on nil.

func init() {
	trial.Attach = func(options any, t *trial.TestHooks) { options.(*Options).trial = t }
}

// reports tells the trial of a mistake, and returns whether there is a trial.
func (s *strict) reports(mistake string) bool {
	if s == nil || s.trial == nil {
		return false
	}
	s.trial.Fail(mistake, programCalls())
	return true
}

// now is the time that records expire by.
func (s *strict) now() time.Time {
	if s == nil || s.trial == nil {
		return time.Now()
	}
	return s.trial.Now()
}

// noteCalls notes where w began. h.mu is held.
func (h *hub) noteCalls(w listener) {
	if h.strict.trial == nil {
		return
	}
	if h.trial == nil {
		h.trial = map[listener]calls{}
	}
	h.trial[w] = programCalls()
	if s, ok := w.(*subscription); ok {
		if pcs := seam.Calls(s.ctx); pcs != nil {
			h.trial[w] = programOf(pcs)
		}
	}
}

// A strictSlot is the slot of a state of a strict map.
type strictSlot struct {
	slot *epoch.Slot
	of   *strict
}

// abandonStrictly is abandon, and notes a transaction or snapshot that was not ended.
func abandonStrictly(s strictSlot) {
	if p, live := s.slot.Pin(); live && s.of.trial != nil {
		what := openWhat(p) + " was dropped, and not ended; it began"
		s.of.mu.Lock()
		s.of.dropped = append(s.of.dropped, trial.Left{What: what, Began: program(p.Began())})
		s.of.mu.Unlock()
	}
	abandon(s.slot)
}

// close says that the map or database was closed.
func (s *strict) close() {
	if s != nil {
		s.closed.Store(true)
	}
}

// isMade tells the trial of the map or database, which is root, a *core or a *DB.
func (s *shared) isMade(root any) {
	if s.strict != nil && s.strict.trial != nil {
		s.strict.trial.Made(&subject{s, root, programCalls()})
	}
}

// updateOnTrial is updateStrictly for a trial.
func (m *core) updateOnTrial(
	ctx context.Context, opts *TxOptions, attempts int, run func(tx DBTx) error,
) error {
	s, made := m.shared.strict, 0
	for ; ; made++ {
		always := made < s.trial.Conflicts && made+1 < attempts
		if !always && (s.trial.Chance == nil || !s.trial.Chance()) {
			break
		}
		over, err := m.attemptOnTrial(opts, made+1, always, run)
		switch {
		case over:
			return err
		case !errors.As(err, new(*ConflictError)): // the attempt could not conflict
		case made+1 == attempts:
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("%w; %w", endOf(ctx), err)
		default:
			if opts != nil && opts.seen != nil {
				opts.seen.end(err, false)
			}
			m.counters.retries.Add(1)
		}
	}
	own := true // the error is not that of run
	err := m.updateAtLast(ctx, opts, attempts-made, func(tx DBTx) error {
		err := run(tx)
		own = err == nil
		return err
	})
	if conflict, is := errors.AsType[*ConflictError](err); is && own {
		conflict.Attempts += made
	}
	return err
}

// attemptOnTrial makes the nth attempt of an Update. It returns a conflict if the attempt could
// conflict. Else it rolls the attempt back if rehearse is set, and commits the attempt if not. over
// says that no other attempt is to follow.
func (m *core) attemptOnTrial(
	opts *TxOptions, n int, rehearse bool, run func(tx DBTx) error,
) (over bool, err error) {
	tx := m.beginTx(opts)
	defer tx.Rollback()
	if err = tx.rehearsed(run); err != nil {
		return true, err
	}
	switch st := stateOf(tx.st); {
	case st.canConflict():
		return false, st.force(tx.gen, n)
	case rehearse:
		return false, nil
	}
	err = tx.Commit()
	return !errors.Is(err, ErrConflict), err
}

// A subject is a trial's map by itself, or database, as root. It keeps root reachable until End: so
// the garbage collector does not end root first.
type subject struct {
	*shared
	root any
	made calls
}

// Expire has the records expire whose time has come. It waits for a goroutine that is at it.
func (s *subject) Expire(ctx context.Context) (err error) {
	s.gc.Outside("Step")
	s.eachExpiring(func(c *core) {
		x := c.expiry()
		if err != nil || x == nil { // it was closed meanwhile
			return
		}
		for x.sweeping.Swap(true) {
			time.Sleep(time.Microsecond)
		}
		defer x.sweeping.Store(false) // until may panic
		s.gc.Within(func() { err = c.expireNow(ctx) })
	})
	return err
}

// Step does the background work.
func (s *subject) Step(ctx context.Context) error {
	if err := s.Expire(ctx); err != nil {
		return err
	}
	s.hub.step()
	return s.gc.Reclaim(ctx)
}

// step makes a round, if anybody watches.
func (h *hub) step() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forgetDropped(); len(h.listeners) > 0 {
		h.round()
	}
}

// End closes all that is open, and returns a list of it.
func (s *subject) End() (left []trial.Left) {
	what := "a map"
	closing := func() { s.root.(*core).close() }
	if db, ok := s.root.(*DB); ok {
		what, closing = "a database", db.Close
	}
	if !s.strict.closed.Load() {
		left = append(left, trial.Left{What: what + " was not closed; it was made", Began: s.made})
	}
	s.endUnkept()
	left = append(left, s.hub.endAll()...)
	closing()
	for p := range s.slots.Live {
		what := openWhat(p) + " is open; it began"
		left = append(left, trial.Left{What: what, Began: program(p.Began())})
	}
	s.strict.mu.Lock()
	defer s.strict.mu.Unlock()
	left = append(left, s.strict.dropped...)
	s.strict.dropped = nil
	return left
}

// openWhat names the kind of a live transaction.
func openWhat(p epoch.Pin) string {
	if p.MayWrite() {
		return "a transaction"
	}
	return "a snapshot"
}

// endAll ends all watches and channels of Changed. It returns the watches whose contexts had not
// ended. (A channel of Changed may be dropped.)
func (h *hub) endAll() (left []trial.Left) {
	var all []listener
	h.mu.Lock()
	for w := range h.listeners {
		all = append(all, w)
		if s, ok := w.(*subscription); ok && s.ctx.Err() == nil {
			what := "a watch has not ended; it began"
			if seam.Calls(s.ctx) != nil {
				what = "a journal was not closed; it was opened"
			}
			left = append(left, trial.Left{What: what, Began: h.trial[w]})
		}
	}
	h.mu.Unlock()
	for _, w := range all {
		if w, ok := w.(interface{ end() }); ok { // else it is a test's own
			w.end()
		}
		w.lose() // a goroutine that waits goes on
	}
	return left
}

// calls are those of the program that led somewhere, innermost first.
type calls = []runtime.Frame

// programCalls returns the calls of the program that led here.
func programCalls() calls {
	var pcs [64]uintptr
	return programOf(pcs[:runtime.Callers(2, pcs[:])])
}

// programOf returns the calls of the program among those of some program counters.
func programOf(pcs []uintptr) calls {
	frames := runtime.CallersFrames(pcs)
	var list calls
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.PC != 0 {
			list = append(list, f)
		}
	}
	return program(list)
}

// program returns the calls without those of the library. For a goroutine of the library it returns
// that goroutine's first call.
func program(all calls) calls {
	for i, f := range all {
		if f.Function == "runtime.goexit" && i > 0 && isLibrary(all[i-1].File) {
			return all[i-1:]
		}
	}
	return slices.DeleteFunc(all, func(f runtime.Frame) bool { return isLibrary(f.File) })
}

// isLibrary reports whether a file belongs to the library.
func isLibrary(file string) bool {
	rest, ok := strings.CutPrefix(file, path.Dir(sources())+"/")
	in, _, _ := strings.Cut(rest, "/")
	switch in {
	case "mvcc", "mvcctest", "gc", "epoch", "internal", "durable":
		return ok && !strings.HasSuffix(file, "_test.go")
	}
	return false
}
