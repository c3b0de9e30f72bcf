package bench

// Verify checks what the goroutines have left behind against what they know of
// it, as the package comment says. It returns nil, a [*Violation], or the
// failure that ended the last run. It takes time in proportion to the number of
// keys times goroutines.
func (t *Trial) Verify() error {
	if t.failure != nil {
		return t.failure
	}
	if err := t.verify(); err != nil {
		t.failure = t.failed(err)
	}
	return t.failure
}

func (t *Trial) verify() error {
	switch t.config.Workload.kind {
	case getPut, ycsb, overwrite:
		return t.verifyObserved()
	case longReader:
		if a, ok := t.audits.auditor.(interface{ readAll() error }); ok {
			if err := a.readAll(); err != nil {
				return err
			}
		}
		return t.verifyObserved()
	case disjoint, disjointBatch:
		return t.verifyOwned()
	case freeBatch:
		return t.verifyFreed()
	case transfer:
		if err := t.audits.do(); err != nil {
			return err
		}
		return t.verifyAdded(openingBalance)
	case counter, crowd:
		return t.verifyAdded(0)
	}
	return t.verifyUntouched()
}

// tasks returns the tasks of all goroutines as what they have in common.
func tasks[T any](t *Trial) []T {
	all := make([]T, len(t.workers))
	for i, w := range t.workers {
		all[i] = w.task.(T)
	}
	return all
}

// verifyObserved checks keys that everybody writes.
func (t *Trial) verifyObserved() error {
	all := make([]*observer, 0, len(t.workers))
	for _, task := range tasks[observing](t) {
		all = append(all, task.observed())
	}
	if err := checkSeen(all); err != nil {
		return &violation{detail: err.Error()}
	}
	for k := range t.count() {
		v, ok, err := t.rig.get(k)
		if err != nil {
			return err
		}
		if err := checkFinal(all, k, v, ok); err != nil {
			return &violation{key: t.rig.name(k), detail: err.Error()}
		}
	}
	return nil
}

// verifyOwned checks keys that one goroutine each writes.
func (t *Trial) verifyOwned() error {
	for k, task := range tasks[owning](t) {
		v, ok, err := t.rig.get(k)
		if err != nil {
			return err
		}
		if err := task.record().check(t.rig.name(k), v, ok); err != nil {
			return err
		}
	}
	return nil
}

// verifyFreed checks keys that one goroutine each deletes and puts back.
func (t *Trial) verifyFreed() error {
	each := t.count() / len(t.workers)
	for i, task := range tasks[freeing](t) {
		for k := i * each; k < (i+1)*each; k++ {
			v, ok, err := t.rig.get(k)
			if err != nil {
				return err
			}
			if err := task.checkLeft(k, v, ok); err != nil {
				return &violation{key: t.rig.name(k), detail: err.Error()}
			}
		}
	}
	return nil
}

// verifyAdded checks that each key holds what it held at first and what the
// goroutines have added to it, modulo 2^64.
func (t *Trial) verifyAdded(first uint64) error {
	sums := make([]uint64, t.count())
	for _, task := range tasks[adding](t) {
		task.addTo(sums)
	}
	for k, added := range sums {
		v, ok, err := t.rig.get(k)
		if err != nil {
			return err
		}
		if want := first + added; !ok || v != want {
			return wrong(t.rig.name(k), "has %d at the end, %t; the committed operations make it %d", int64(v), ok, int64(want))
		}
	}
	return nil
}

// verifyUntouched checks that nobody has written: not even an empty transaction.
func (t *Trial) verifyUntouched() error {
	for k := range t.count() {
		v, ok, err := t.rig.get(k)
		if err != nil {
			return err
		}
		if !ok || v != loaded(k) {
			return wrong(t.rig.name(k), "was never written to, and gives %#x, %t at the end", v, ok)
		}
	}
	return nil
}

// count returns the number of keys.
func (t *Trial) count() int { return t.config.Workload.keyCount(t.config.Threads) }
