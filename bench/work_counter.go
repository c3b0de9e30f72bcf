package bench

// counterWorkloads increment counters.
func counterWorkloads() []Workload {
	return []Workload{
		{
			Name: "counter",
			Doc: "Increment a counter by read-modify-write; with several, round robin. No count is handed " +
				"out twice to a goroutine, and the counts must add up to the committed operations.",
			Params:  Params{Keys: 1, ReadPct: Unset, Theta: Unset},
			kind:    counter,
			minKeys: 1, maxKeys: 4,
			operation: addOperation,
		},
		{
			Name: "many-goroutines",
			Doc: "Increment a counter by read-modify-write, with goroutines by the hundred thousand " +
				"(--threads 100000) that share --keys counters and take their time (--rate). " +
				"Verified as counter.",
			Params:  Params{Keys: 1_000, ReadPct: Unset, Theta: Unset},
			kind:    crowd,
			like:    "counter",
			minKeys: 1, maxKeys: manyKeys,
			threads: 100_000, rate: 20_000, operation: addOperation,
		},
	}
}

// added is what the jobs have in common that compute with the values.
type added struct {
	rig     *rigOf[uint64]
	opening uint64 // what each key has at first
	all     []adding
}

// adding is a task that knows what it has added to each key.
type adding interface {
	task
	addTo(sums []uint64)
}

// adds returns t, whose sums it will ask for.
func (a *added) adds(t adding) task {
	a.all = append(a.all, t)
	return t
}

func (a *added) first(int) stamp { return a.opening }

// verify checks that each key holds what it held at first and what the
// goroutines have added to it, modulo 2^64.
func (a *added) verify() error {
	sums := make([]uint64, len(a.rig.list))
	for _, t := range a.all {
		t.addTo(sums)
	}
	return a.rig.each(func(k int, v stamp, ok bool) error {
		if want := a.opening + sums[k]; !ok || v != want {
			return wrong(a.rig.name(k), "has %d at the end, %t; the committed operations make it %d",
				int64(v), ok, int64(want))
		}
		return nil
	})
}

type counterJob struct{ added }

func (j *counterJob) task(i int, s Session[uint64]) task {
	session, ok := s.(Incrementer)
	if !ok {
		return nil
	}
	t := &counterTask{add: session, keys: j.rig.list}
	if j.rig.config.Workload.kind == crowd {
		t.first = i % len(j.rig.list)
		t.keys = j.rig.list[t.first : t.first+1]
	} else {
		start := j.rig.streamFor(i, forStart)
		t.next = start.below(len(j.rig.list))
	}
	t.last, t.counted = make([]uint64, len(t.keys)), make([]uint64, len(t.keys))
	return j.adds(t)
}

// counterTask increments counters.
type counterTask struct {
	add     Incrementer
	keys    []string
	first   int // index of the first of them
	next    int
	last    []uint64 // by key: the last sum that this goroutine was given
	counted []uint64 // by key: its committed increments
}

func (t *counterTask) do() error {
	k := t.next
	if t.next++; t.next == len(t.keys) {
		t.next = 0
	}
	sum, err := t.add.Add(t.keys[k], 1)
	if err != nil {
		return err
	}
	if sum <= t.last[k] {
		return wrong(t.keys[k], "an increment gave %d to a goroutine that had been given %d",
			sum, t.last[k])
	}
	t.last[k] = sum
	t.counted[k]++
	return nil
}

func (t *counterTask) addTo(sums []uint64) {
	for k, n := range t.counted {
		sums[t.first+k] += n
	}
}
