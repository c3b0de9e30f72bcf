package bench

func beginWorkloads() []Workload {
	return []Workload{{
		Name: "begin",
		Doc: "Begin a read-only transaction and end it, on a map that holds keys, " +
			"which must be untouched at the end.",
		Params:  Params{Keys: 1_000, ReadPct: Unset, Theta: Unset, KeyType: StringKeys},
		kind:    begin,
		minKeys: 1, maxKeys: manyKeys,
		operation: beginOperation,
	}}
}

type beginJob[K comparable, V any] struct{ *rigOf[K, V] }

func (j beginJob[K, V]) first(k int) stamp { return loaded(k) }

func (j beginJob[K, V]) task(_ int, s Session[K, V]) task {
	if b, ok := s.(Beginner); ok {
		return &beginTask{b}
	}
	return nil
}

// beginTask begins and ends empty transactions.
type beginTask struct{ begin Beginner }

func (t *beginTask) do() error { return t.begin.Begin() }

// verify checks that nobody has written: not even an empty transaction.
func (j beginJob[K, V]) verify() error {
	return j.each(func(k int, v stamp, ok bool) error {
		if !ok || v != loaded(k) {
			return wrong(j.name(k), "was never written to, and gives %#x, %t at the end", v, ok)
		}
		return nil
	})
}
