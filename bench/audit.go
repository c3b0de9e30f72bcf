package bench

import (
	"fmt"
	"runtime/debug"
	"time"
)

// auditWorker makes audits beside the workers.
type auditWorker struct {
	steps    []func() error // of an audit
	audits   uint64         // that passed
	interval time.Duration
	err      error
}

// newAuditor returns the auditor of a run, nil without anything to audit. It opens the snapshot of
// a workload that has one.
func (t *Trial) newAuditor() (*auditWorker, error) {
	a := &auditWorker{interval: t.config.AuditInterval}
	w := t.config.Workload
	if w.alone {
		return nil, nil
	}
	if w.restless {
		a.interval = 0
	}
	s := t.engine.Session(t.config.Threads)
	if w.pins {
		p, ok := s.(Pinner)
		if !ok {
			return nil, fmt.Errorf("sessions of engine %s: expected a Pinner", t.config.Engine.Name)
		}
		tx, done, err := p.Pin()
		if err != nil {
			return nil, err
		}
		t.pin = &pinned{tx: tx, done: done, of: t.newKnown(-1, t.model.tables[0])}
		a.steps = append(a.steps, t.pin.audit)
	}
	if t.census != nil {
		a.steps = append(a.steps, t.census.sample)
	}
	if checks := t.model.audit; len(checks) > 0 {
		tx := newTx(t, -1, s)
		a.steps = append(a.steps, func() error { return tx.check(checks) })
	}
	if len(a.steps) == 0 {
		return nil, nil
	}
	return a, nil
}

// run audits at once, and then at every interval until done is closed or, without an interval,
// again and again until stop is set. It calls halt if an audit fails.
func (a *auditWorker) run(stop *stopFlag, halt func(), done <-chan struct{}) {
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if a.err != nil {
			halt()
		}
	}()
	var tick <-chan time.Time
	if a.interval > 0 {
		t := time.NewTicker(a.interval)
		defer t.Stop()
		tick = t.C
	}
	for {
		for _, step := range a.steps {
			if a.err = step(); a.err != nil {
				return
			}
		}
		a.audits++
		if tick == nil {
			if stop.Load() {
				return
			}
			continue
		}
		select {
		case <-done:
			return
		case <-tick:
		}
	}
}

// pinned is a snapshot that was opened before the goroutines started.
type pinned struct {
	tx   Access
	done func()
	of   known
	next int64
}

// readsOfAudit is the number of records that an audit reads through the snapshot.
const readsOfAudit = 16

func (p *pinned) audit() error {
	for range min(readsOfAudit, p.of.Records) {
		if err := p.read(p.next); err != nil {
			return err
		}
		if p.next++; p.next == int64(p.of.Records) {
			p.next = 0
		}
	}
	return nil
}

// verify reads all records.
func (p *pinned) verify() error {
	for k := range int64(p.of.Records) {
		if err := p.read(k); err != nil {
			return err
		}
	}
	return nil
}

// read checks that a record is in the snapshot as it was.
func (p *pinned) read(k int64) error {
	r, ok := p.tx.Get(p.of.index, p.of.key(k))
	if !ok {
		return wrong(p.of.name(k), "is absent in a snapshot that had it")
	}
	if s := p.of.stamp(r); s != loaded(int(k)) {
		return p.of.flawed(k, r, fmt.Errorf("holds %s in a snapshot that was opened before that was "+
			"written", describe(s)))
	}
	return nil
}
