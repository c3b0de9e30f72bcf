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
	case getPut:
		return verifyTasks(t, t.verifyGetPut)
	case disjoint:
		return verifyTasks(t, t.verifyDisjoint)
	case transfer:
		return verifyTasks(t, t.verifyTransfer)
	case counter:
		return verifyTasks(t, t.verifyCounter)
	}
	// An empty transaction must have left the map as it was.
	for k, key := range t.keys {
		v, ok, err := t.runner.Get(key)
		if err != nil {
			return err
		}
		if !ok || v != loaded(k) {
			return wrong(key, "was never written to, and gives %#x, %t at the end", v, ok)
		}
	}
	return nil
}

// verifyTasks hands check the tasks of all goroutines.
func verifyTasks[T task](t *Trial, check func(tasks []T) error) error {
	tasks := make([]T, len(t.workers))
	for i, w := range t.workers {
		tasks[i] = w.task.(T)
	}
	return check(tasks)
}

func (t *Trial) verifyGetPut(tasks []*getPutTask) error {
	all := make([]*observer, len(tasks))
	for i, task := range tasks {
		all[i] = task.seen
	}
	if err := checkSeen(all); err != nil {
		return &violation{detail: err.Error()}
	}
	for k, key := range t.keys {
		v, ok, err := t.runner.Get(key)
		if err != nil {
			return err
		}
		if err := checkFinal(all, k, v, ok); err != nil {
			return &violation{key: key, detail: err.Error()}
		}
	}
	return nil
}

func (t *Trial) verifyDisjoint(tasks []*disjointTask) error {
	for _, task := range tasks {
		v, ok, err := t.runner.Get(task.key)
		if err != nil {
			return err
		}
		if err := task.check(v, ok); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trial) verifyTransfer(tasks []*transferTask) error {
	if err := t.audits.do(); err != nil {
		return err
	}
	moved := make([]uint64, len(t.keys)) // by all, modulo 2^64
	for _, task := range tasks {
		for k, amount := range task.moved {
			moved[k] += amount
		}
	}
	for k, key := range t.keys {
		want := openingBalance + moved[k]
		v, ok, err := t.runner.Get(key)
		if err != nil {
			return err
		}
		if !ok || v != want {
			return wrong(key, "has %d at the end, %t; the committed transfers make it %d", int64(v), ok, int64(want))
		}
	}
	return nil
}

func (t *Trial) verifyCounter(tasks []*counterTask) error {
	for k, key := range t.keys {
		var want uint64
		for _, task := range tasks {
			want += task.counted[k]
		}
		v, ok, err := t.runner.Get(key)
		if err != nil {
			return err
		}
		if !ok || v != want {
			return wrong(key, "counted %d, %t; %d increments were committed", v, ok, want)
		}
	}
	return nil
}
