package bench

// What a random stream is for. Each goroutine has one for each of them, so that
// no choice follows from another.
const (
	forStart = iota
	forCoin
	forPick
	forAmount
	forGaps
	forArrivals
	forSizes
)

// streamFor returns the stream of random numbers with which goroutine worker
// makes one kind of choice.
func (t *Trial) streamFor(worker, purpose int) stream {
	return newStream(t.config.Seed, uint64(t.config.Sample), uint64(worker), uint64(purpose))
}

// makeWorkers makes a session and a task for each goroutine.
func (t *Trial) makeWorkers() error {
	for i := range t.config.Threads {
		task, s, err := t.rig.task(i)
		if err != nil {
			return err
		}
		t.workers = append(t.workers, newWorker(t, i, s, task))
	}
	if t.config.Workload.HasAudits() {
		a, err := t.rig.auditor()
		if err != nil {
			return err
		}
		t.audits = &auditWorker{auditor: a, interval: t.config.AuditInterval}
	}
	return nil
}

func (r *rigOf[K, V]) task(i int) (task, aborter, error) {
	s := r.engine.Session(i)
	t := r.newTask(i, s)
	if t == nil {
		return nil, nil, r.failed(errUnsupported)
	}
	return t, s, nil
}

// newTask returns what goroutine i does, with its session s, or nil if s lacks a
// method for it.
func (r *rigOf[K, V]) newTask(i int, s SessionOf[K, V]) task {
	w := r.config.Workload
	start := r.streamFor(i, forStart)
	switch w.kind {
	case getPut, longReader, overwrite:
		return &getPutTask[K, V]{
			session: plain(s),
			keys:    r.list,
			values:  newValues[V](r.Trial, i),
			seen:    newObserver(i+1, r.config.Threads, len(r.list)),
			reads:   readsOf(w),
			coin:    r.streamFor(i, forCoin),
			pick:    r.streamFor(i, forPick),
			dist:    r.dist,
			next:    start.below(len(r.list)),
			label:   labeller{on: &r.labelling},
		}
	case disjoint:
		return &disjointTask[K, V]{
			session: plain(s), key: r.list[i], values: newValues[V](r.Trial, i),
			own: own{index: i, writer: i + 1, last: loaded(i)}, gaps: r.streamFor(i, forPick),
		}
	case disjointBatch:
		if b, ok := s.(BatcherOf[K, V]); ok {
			return newOwnBatch(b, r.list[i], i, newValues[V](r.Trial, i))
		}
	case ycsb:
		if b, ok := s.(BatcherOf[K, V]); ok {
			return &ycsbTask[K, V]{
				batcher: b,
				keys:    r.list,
				values:  newValues[V](r.Trial, i),
				seen:    newObserver(i+1, r.config.Threads, len(r.list)),
				reads:   readsOf(w),
				write:   writeKind(w),
				coin:    r.streamFor(i, forCoin),
				pick:    r.streamFor(i, forPick),
				dist:    r.dist,
				ops:     make([]OpOf[K, V], w.Params.TxnSize),
				index:   make([]int, w.Params.TxnSize),
				label:   labeller{on: &r.labelling},
			}
		}
	case freeBatch:
		if b, ok := s.(BatcherOf[K, V]); ok {
			return newFreeBatch(b, r.list, i, w, newValues[V](r.Trial, i), r.streamFor(i, forPick))
		}
	case transfer:
		if tr, ok := s.(TransfererOf[K]); ok {
			return &transferTask[K]{
				transfer: tr,
				keys:     r.list,
				pick:     r.streamFor(i, forPick),
				amount:   r.streamFor(i, forAmount),
				moved:    numbers(len(r.list)),
			}
		}
	case counter:
		if add, ok := s.(IncrementerOf[K]); ok {
			return &counterTask[K]{
				add:     add,
				keys:    r.list,
				next:    start.below(len(r.list)),
				last:    make([]uint64, len(r.list)),
				counted: make([]uint64, len(r.list)),
			}
		}
	case crowd:
		if add, ok := s.(IncrementerOf[K]); ok {
			return &crowdTask[K]{add: add, key: r.list[i%len(r.list)], index: i % len(r.list)}
		}
	case begin:
		if b, ok := s.(Beginner); ok {
			return &beginTask{begin: b}
		}
	}
	return nil
}

// readsOf returns how many of 2^32 operations of w read.
func readsOf(w Workload) uint64 { return uint64(max(w.Params.ReadPct, 0)) * (1 << 32) / 100 }

// writeKind returns how w writes within a transaction.
func writeKind(w Workload) OpKind {
	if w.modifies {
		return OpModify
	}
	return OpPut
}
