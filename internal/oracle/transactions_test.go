package oracle

import (
	"errors"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

func (p *program) txOptions() (*mvcc.TxOptions, mvcc.Level) {
	switch p.choose(3, "level") {
	case 0:
		return &mvcc.TxOptions{Isolation: mvcc.LevelSerializable}, mvcc.LevelSerializable
	case 1:
		return &mvcc.TxOptions{Isolation: mvcc.LevelSnapshot}, mvcc.LevelSnapshot
	}
	return nil, p.level
}

func (p *program) begin() {
	opts, level := p.txOptions()
	h := &handle{isTx: true, level: level}
	if p.choose(4, "of a table") == 3 {
		t := p.table()
		h = p.begun(h, "tx")
		h.alone, h.plain, h.readers[t] = t, len(t.indexes) == 0, t.m.Begin(opts)
		p.note("%s = %s.Begin(%v)", h.name, t.m.Name(), level)
	} else {
		h.tx = p.db.Begin(opts)
		h = p.begun(h, "tx")
		p.note("%s = db.Begin(%v)", h.name, level)
	}
	p.open = append(p.open, h)
}

func (p *program) snapshot() {
	h := p.begun(&handle{}, "s")
	if p.choose(4, "of a table") == 3 {
		t := p.table()
		h.alone, h.readers[t] = t, t.m.Snapshot()
		p.note("%s = %s.Snapshot()", h.name, t.m.Name())
	} else {
		h.s = p.db.Snapshot()
		p.note("%s = db.Snapshot()", h.name)
	}
	p.open = append(p.open, h)
}

// pick chooses one of the transactions, or of all that is open.
func (p *program) pick(tx bool) (i int, h *handle) {
	var is []int
	for i, h := range p.open {
		if h.isTx || !tx {
			is = append(is, i)
		}
	}
	i = is[p.choose(len(is), "handle")]
	return i, p.open[i]
}

func (p *program) has(tx bool) bool {
	return slices.ContainsFunc(p.open, func(h *handle) bool { return h.isTx || !tx })
}

func (p *program) commit() {
	i, h := p.pick(true)
	v := h.verdict(p.o)
	p.note("%s.Commit(): %+v", h.name, v)
	failing := p.err(h)
	var told []uint64
	onCommit, commit := h.tx.OnCommit, h.tx.Commit
	if h.alone != nil {
		tx := p.tx(h, h.alone)
		onCommit, commit = tx.OnCommit, tx.Commit
	}
	onCommit(func(epoch uint64) { told = append(told, epoch) })
	err := commit()
	p.open = slices.Delete(p.open, i, i+1)
	p.check(!failing || err != nil, "Commit", "it succeeds, though Err had said no")
	p.outcome("Commit", h, v, err)
	if err == nil {
		p.check(len(told) == 1, "OnCommit", "told of %v", told)
		if h.writesAny() {
			p.check(told[0] == p.db.Epoch(), "OnCommit", "told of %d, want %d", told[0], p.db.Epoch())
			p.o.commit(h.final(p.o), h.touched)
		}
	} else {
		p.check(told == nil, "OnCommit", "told of %v", told)
	}
}

// outcome compares what became of a commit with what may.
func (p *program) outcome(what string, h *handle, v outcomes, err error) {
	var c *mvcc.ConflictError
	var u *mvcc.UniqueError
	switch {
	case err == nil:
		p.check(v.ok, what, "it succeeds, want %+v", v)
	case errors.As(err, &c):
		p.check(v.conflict && errors.Is(err, mvcc.ErrConflict), what, "%v, want %+v", err, v)
		p.check(h.explains(p.o, c), what, "%#v is not what happened", c)
	case errors.As(err, &u):
		p.check(v.refused && p.refuses(h, u), what, "%v, want %+v", err, v)
	default:
		p.check(false, what, "%v", err)
	}
}

// refuses reports whether u is what a unique index says of the transaction.
func (p *program) refuses(h *handle, u *mvcc.UniqueError) bool {
	for t, part := range h.parts {
		for _, ix := range part.by {
			if t.m.Name() == u.Table && ix.name == u.Index && twice(ix, h.view(p.o, t), u) {
				return true
			}
		}
	}
	return false
}

func twice(ix *index, all map[string]int, u *mvcc.UniqueError) bool {
	i, _ := u.Key.(int)
	owners := ix.twice(all)[i]
	a, _ := u.Records[0].(string)
	b, _ := u.Records[1].(string)
	return ix.unique && a != b && slices.Contains(owners, a) && slices.Contains(owners, b)
}

// err compares what Err says, and reports whether that is that the transaction cannot commit.
func (p *program) err(h *handle) bool {
	err := h.tx.Err
	if h.alone != nil {
		err = p.tx(h, h.alone).Err
	}
	var c *mvcc.ConflictError
	got := err()
	if p.check(got != nil || !h.doomed(p.o), "Err",
		"nil, though what was read is overwritten"); got == nil {
		return false
	}
	v := h.verdict(p.o)
	p.check(errors.As(got, &c) && (v.conflict || v.refused), "Err", "%v, want %+v", got, v)
	p.check(h.explains(p.o, c), "Err", "%#v is not what happened", c)
	return true
}

func (p *program) rollback() {
	i, h := p.pick(false)
	p.note("%s ends", h.name)
	p.end(h)
	p.open = slices.Delete(p.open, i, i+1)
}

func (p *program) end(h *handle) {
	switch {
	case h.alone == nil && h.isTx:
		h.tx.Rollback()
	case h.alone == nil:
		h.s.Close()
	case h.isTx:
		p.tx(h, h.alone).Rollback()
	default:
		h.readers[h.alone].(mvcc.Snapshot[string, int]).Close()
	}
}

// update runs some steps in an Update, beside which others commit in the first attempt.
func (p *program) update() {
	opts, level := p.txOptions()
	var alone *table
	if p.choose(4, "of a table") == 3 {
		alone = p.table()
	}
	steps, beside, ending := 1+p.choose(6, "steps"), p.choose(3, "beside"), p.choose(5, "ending")
	p.note("Update(%v), %d steps, %d beside, ending %d:", level, steps, beside, ending)
	var h *handle
	var last outcomes
	calls := 0
	body := func(x *handle) error {
		if calls++; calls > 1 {
			p.check(last.conflict && calls == 2, "Update", "it runs again after %+v", last)
			p.note("again:")
		}
		h = p.begun(x, "tx")
		for i := range steps {
			p.step(h)
			if calls == 1 && i < beside {
				p.store()
			}
		}
		last = h.verdict(p.o)
		if ending == 4 {
			return errOwn
		}
		return nil
	}
	var err error
	if alone != nil {
		err = alone.m.Update(bg, opts, func(tx mvcc.Tx[string, int]) error {
			h := &handle{isTx: true, level: level, alone: alone, plain: len(alone.indexes) == 0}
			h.readers = map[*table]reader{alone: tx}
			return body(h)
		})
	} else {
		err = p.db.Update(bg, opts, func(tx mvcc.DBTx) error {
			return body(&handle{isTx: true, level: level, tx: tx})
		})
	}
	p.note("end of the Update: %+v", last)
	if ending == 4 {
		p.check(err == errOwn && calls == 1, "Update", "%v, %d calls", err, calls)
		return
	}
	last.conflict = false // it tries again
	p.outcome("Update", h, last, err)
	if err == nil && h.writesAny() {
		p.o.commit(h.final(p.o), h.touched)
	}
}
