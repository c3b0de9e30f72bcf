package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

func (p *program[K, V]) txOptions() (*mvcc.TxOptions, mvcc.Level) {
	switch p.choose(3, "level") {
	case 0:
		return &mvcc.TxOptions{Isolation: mvcc.LevelSerializable}, mvcc.LevelSerializable
	case 1:
		return &mvcc.TxOptions{Isolation: mvcc.LevelSnapshot}, mvcc.LevelSnapshot
	}
	return nil, p.level
}

// alone chooses the table that a handle is of, nil if it is one of the database.
func (p *program[K, V]) alone() *table[K, V] {
	if p.db == nil || p.choose(4, "of a table") == 3 {
		return p.table()
	}
	return nil
}

// handleOf returns a handle of one table.
func handleOf[K, V comparable](t *table[K, V], r reader[K, V], level mvcc.Level) *handle[K, V] {
	_, isTx := r.(mvcc.Tx[K, V])
	return &handle[K, V]{isTx: isTx, level: level, alone: t, plain: len(t.indexes) == 0,
		readers: map[*table[K, V]]reader[K, V]{t: r}}
}

func (p *program[K, V]) begin() {
	opts, level := p.txOptions()
	h := &handle[K, V]{isTx: true, level: level}
	if t := p.alone(); t != nil {
		h = handleOf(t, t.m.Begin(opts), level)
	} else {
		h.tx = p.db.Begin(opts)
	}
	p.opened(h, "tx")
}

func (p *program[K, V]) snapshot() {
	h := &handle[K, V]{}
	if t := p.alone(); t != nil {
		h = handleOf(t, t.m.Snapshot(), 0)
	} else {
		h.s = p.db.Snapshot()
	}
	p.opened(h, "s")
}

func (p *program[K, V]) opened(h *handle[K, V], kind string) {
	p.open = append(p.open, p.begun(h, kind))
	p.noteStep("%s begins, %v, of one table %v, at %d", h.name, h.level, h.alone != nil, h.epoch)
}

// pickHandle chooses one of the transactions, or of all that is open.
func (p *program[K, V]) pickHandle(tx bool) *handle[K, V] {
	var of []*handle[K, V]
	for _, h := range p.open {
		if h.isTx || !tx {
			of = append(of, h)
		}
	}
	return of[p.choose(len(of), "handle")]
}

func (p *program[K, V]) has(tx bool) bool {
	return slices.ContainsFunc(p.open, func(h *handle[K, V]) bool { return h.isTx || !tx })
}

// close takes a handle off the list of those that are open.
func (p *program[K, V]) close(h *handle[K, V]) {
	i := slices.Index(p.open, h)
	p.open = slices.Delete(p.open, i, i+1)
}

func (p *program[K, V]) commit() {
	h := p.pickHandle(true)
	v := h.verdict(p.o)
	p.noteStep("%s.Commit(): %+v", h.name, v)
	failing := p.err(h)
	var told []uint64
	onCommit, commit := h.tx.OnCommit, h.tx.Commit
	if h.alone != nil {
		tx := p.txOn(h, h.alone)
		onCommit, commit = tx.OnCommit, tx.Commit
	}
	for range 2 {
		onCommit(func(epoch uint64) { told = append(told, epoch) })
	}
	err := commit()
	p.close(h)
	p.check(!failing || err != nil, "Commit", "it succeeds, though Err had said no")
	p.outcome("Commit", h, v, err)
	if err != nil {
		p.check(told == nil, "OnCommit", "told of %v", told)
		return
	}
	at := h.epoch
	if h.writesAny() {
		at = p.engine.Epoch()
		p.o.commit(h.final(p.o), h.touched)
	}
	p.check(slices.Equal(told, []uint64{at, at}), "OnCommit", "told of %v, want %d twice", told, at)
}

// outcome compares the end of a commit with the possible ones.
func (p *program[K, V]) outcome(what string, h *handle[K, V], v outcomes, err error) {
	var c *mvcc.ConflictError
	var u *mvcc.UniqueError
	switch {
	case err == nil:
		p.check(v.ok, what, "it succeeds, want %+v", v)
	case errors.As(err, &c):
		p.check(v.conflict && errors.Is(err, mvcc.ErrConflict), what, "%v, want %+v", err, v)
	case errors.As(err, &u):
		p.check(v.refused && p.refuses(h, u), what, "%v, want %+v", err, v)
	default:
		p.check(false, what, "%v", err)
	}
}

// refuses reports whether u is the error of a unique index for the transaction.
func (p *program[K, V]) refuses(h *handle[K, V], u *mvcc.UniqueError) bool {
	for t, part := range h.parts {
		for _, ix := range part.by {
			if t.m.Name() == u.Table && ix.name == u.Index && twice(ix, h.view(p.o, t), u) {
				return true
			}
		}
	}
	return false
}

func twice[K, V comparable](ix *index[K, V], all map[K]V, u *mvcc.UniqueError) bool {
	i, _ := u.Key.(int)
	owners := ix.twice(all)[i]
	a, isKey := u.Records[0].(K)
	b, isToo := u.Records[1].(K)
	return ix.unique && isKey && isToo && a != b && slices.Contains(owners, a) &&
		slices.Contains(owners, b)
}

// err compares the result of Err, and reports whether that says that the transaction cannot commit.
func (p *program[K, V]) err(h *handle[K, V]) bool {
	err := h.tx.Err
	if h.alone != nil {
		err = p.txOn(h, h.alone).Err
	}
	var c *mvcc.ConflictError
	got := err()
	if p.check(got != nil || !h.doomed(p.o), "Err",
		"nil, though what was read is overwritten"); got == nil {
		return false
	}
	v := h.verdict(p.o)
	p.check(errors.As(got, &c) && (v.conflict || v.refused), "Err", "%v, want %+v", got, v)
	return true
}

func (p *program[K, V]) rollback() {
	h := p.pickHandle(false)
	p.noteStep("%s ends", h.name)
	p.endHandle(h)
	p.close(h)
}

// endHandle ends a handle.
func (p *program[K, V]) endHandle(h *handle[K, V]) {
	switch {
	case h.alone == nil && h.isTx:
		h.tx.Rollback()
	case h.alone == nil:
		h.s.Close()
	case h.isTx:
		p.txOn(h, h.alone).Rollback()
	default:
		h.readers[h.alone].(mvcc.Snapshot[K, V]).Close()
	}
}

// How the function of an Update behaves, but for one that returns nil.
const (
	failing   = 4
	panicking = 5
	once      = 6 // it returns nil, and there is no second attempt
	endings   = 7
)

// update runs some steps in an Update, beside which others commit in the first attempt.
func (p *program[K, V]) update() {
	opts, level := p.txOptions()
	alone := p.alone()
	steps, beside, ending := 1+p.choose(6, "steps"), p.choose(3, "beside"), p.choose(endings, "ending")
	if ending == once {
		opts = &mvcc.TxOptions{Isolation: level, MaxAttempts: 1}
	}
	p.noteStep("Update(%v), %d steps, %d beside, ending %d:", level, steps, beside, ending)
	var h *handle[K, V]
	var last outcomes
	calls := 0
	body := func(x *handle[K, V]) error {
		if calls++; calls > 1 {
			p.again = true
			p.check(last.conflict, "Update", "it runs again after %+v", last)
			p.noteStep("again:")
		}
		h = p.begun(x, "tx")
		p.inside = append(p.inside, h)
		defer func() { p.inside, p.again = nil, false }()
		for i := range steps {
			p.stepInTx(h)
			if calls == 1 && i < beside {
				p.store()
			}
		}
		last = h.verdict(p.o)
		switch ending {
		case failing:
			return errOwn
		case panicking:
			panic(errOwn)
		}
		return nil
	}
	var err error
	panicked := panicOf(func() {
		if alone == nil {
			err = p.db.Update(bg, opts, func(tx mvcc.DBTx) error {
				return body(&handle[K, V]{isTx: true, level: level, tx: tx})
			})
			return
		}
		err = alone.m.Update(bg, opts, func(tx mvcc.Tx[K, V]) error {
			return body(handleOf(alone, reader[K, V](tx), level))
		})
	})
	if panicked != nil && panicked != any(errOwn) {
		panic(panicked) // that of the tester
	}
	p.noteStep("end of the Update: %+v", last)
	fails := ending == failing || ending == panicking
	p.check(fails == (err == errOwn || panicked != nil) && (ending == panicking) == (panicked != nil),
		"Update", "%v, %v", err, panicked)
	if fails {
		p.check(calls == 1, "Update", "%d calls", calls)
		return
	}
	last.conflict = last.conflict && ending == once // else it tries again
	p.outcome("Update", h, last, err)
	if err == nil && h.writesAny() {
		p.o.commit(h.final(p.o), h.touched)
	}
}

// view looks at a table in a View, beside a commit, and passes an error on.
func (p *program[K, V]) view() {
	t, begun := p.table(), p.o.nextTick()
	want := p.o.newest(t)
	p.noteStep("View of %s", t.m.Name())
	look := func(s mvcc.Snapshot[K, V]) error {
		p.store()
		p.requireSame("Len in a View", len(want), s.Len())
		p.check(maps.Equal(want, maps.Collect(s.All())), "View", "%v", fmt.Sprint(want))
		p.whole(t, s, want, begun)
		return errOwn
	}
	var err error
	if p.db == nil {
		err = t.m.View(look)
	} else {
		err = p.db.View(func(s mvcc.DBSnapshot) error { return look(t.m.At(s)) })
	}
	p.check(err == errOwn, "View", "%v", err)
}
