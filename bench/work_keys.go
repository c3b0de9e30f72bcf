package bench

// keyWorkloads read and write one record at a time.
func keyWorkloads() []Workload {
	const verified = " Verified: no record goes back in time, comes back to a value that was replaced, " +
		"or shows what nobody wrote to it; each holds somebody's last write at the end."
	reads := Workload{
		Name: "read-heavy",
		Doc: "Get or put one of a few hot records, or one of many by a Zipf distribution, as --read-pct " +
			"says." + verified,
		Params: Params{Keys: 4, ReadPct: 90, Theta: 0, ValueSize: words},
		OneKey: true,
		Build: func(m *Model) {
			t := m.Table(Table{Name: "records", Records: m.Keys, Size: m.ValueSize})
			getPut(m, t, m.Zipf(m.Keys, m.Theta))
		},
	}
	counter := Workload{
		Name: "counter",
		Doc: "Add to one of --keys counters: a merge, where the engine has it. The counts must be what " +
			"the committed operations make of them. With --keys 1000 --threads 100000 --rate 20000 it " +
			"is very many goroutines that take their time.",
		Params: Params{Keys: 1, ReadPct: Unset, Theta: Unset},
		OneKey: true,
		Build: func(m *Model) {
			t := m.Table(Table{Name: "counters", Records: m.Keys})
			m.Update("add", 1, func(tx *Tx) error {
				tx.Add(t, int64(tx.Below(m.Keys)), 1)
				return nil
			})
		},
	}
	reader := Workload{
		Name: "long-reader",
		Doc: "Put to records at random, while one snapshot, opened before the first, stays open all the " +
			"time: every --audit-interval a few records are read through it, and at the end all, and " +
			"must be as they were. Its figures are to be compared with those of read-heavy --keys 1000 " +
			"--read-pct 0. Heap and versions are reported at the start, at their peak and at the end." +
			verified,
		Params: Params{Keys: 1_000, ReadPct: Unset, Theta: Unset, ValueSize: words},
		OneKey: true, pins: true,
		Build: func(m *Model) {
			t := m.Table(Table{Name: "records", Records: m.Keys, Size: m.ValueSize})
			m.Update("put", 1, func(tx *Tx) error {
				tx.Put(t, int64(tx.Below(m.Keys)))
				return nil
			})
		},
	}
	return []Workload{reads, counter, reader}
}

// getPut gets or puts one record.
func getPut(m *Model, t *Table, draw Draw) {
	m.View("get", float64(m.ReadPct), func(tx *Tx) error {
		tx.Get(t, tx.Draw(draw))
		return nil
	})
	m.Update("put", float64(100-m.ReadPct), func(tx *Tx) error {
		tx.Put(t, tx.Draw(draw))
		return nil
	})
}
