package bench

func beginWorkloads() []Workload {
	return []Workload{{
		Name: "begin",
		Doc: "Begin a read-only transaction and end it, on a map that holds keys, " +
			"which must be untouched at the end.",
		Params:  Params{Keys: 1_000, ReadPct: Unset, Theta: Unset},
		kind:    begin,
		minKeys: 1, maxKeys: manyKeys,
		operation: beginOperation,
	}}
}

type beginJob struct{ rig *rigOf[uint64] }

func (j beginJob) first(k int) stamp { return loaded(k) }

func (j beginJob) task(_ int, s Session[uint64]) task {
	if b, ok := s.(Beginner); ok {
		return &beginTask{b}
	}
	return nil
}

// beginTask begins and ends empty transactions.
type beginTask struct{ begin Beginner }

func (t *beginTask) do() error { return t.begin.Begin() }

// verify checks that an empty transaction has not written anything.
func (j beginJob) verify() error {
	return j.rig.each(func(k int, v stamp, ok bool) error {
		if !ok || v != loaded(k) {
			return wrong(j.rig.name(k), "was never written to, and gives %#x, %t at the end", v, ok)
		}
		return nil
	})
}
