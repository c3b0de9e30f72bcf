package bench

// The rwmutex engine with string keys and numbers is what most tests build on.
type (
	rwMutexEngine  = rwMutexOf[string, uint64]
	rwMutexSession = rwMutexNumberSession[string]
)

// over returns a session of e.
func over(e *rwMutexEngine) rwMutexSession {
	return rwMutexSession{rwMutexSessionOf[string, uint64]{e}}
}

// small returns w with so few keys, and so small transactions, that a test of it
// is quick.
func small(w Workload) Workload {
	switch {
	case w.kind == freeBatch:
		w.Params.Keys, w.Params.TxnSize = 40, 8
	case w.HasAudits():
		w.Params.Keys = 200
	case w.Params.Keys > 1_000:
		w.Params.Keys = 1_000
	}
	return w
}

// smallWorkloads returns all workloads, small.
func smallWorkloads() []Workload {
	list := Workloads()
	for i := range list {
		list[i] = small(list[i])
	}
	return list
}

// smallNumbers returns all workloads, small and with values that are
// numbers, for engines that have no others.
func smallNumbers() []Workload {
	list := smallWorkloads()
	for i := range list {
		list[i].Params.ValueSize = ValueSize{}
	}
	return list
}
