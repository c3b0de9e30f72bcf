package bench

// smallBank is the benchmark of that name.
func smallBank() Workload {
	return Workload{
		Name: "smallbank",
		Doc: "SmallBank: five transactions, one as often as the other, on the savings and checking accounts " +
			"of --keys customers; 90 % of them are for customers of a hot set of 1,000 in 18,000. The table " +
			"that finds a customer by name is left out: customers are numbers. Source: M. Alomari, M. Cahill, " +
			"A. Fekete, U. Röhm: The Cost of Serializability on Platforms That Use Snapshot Isolation. ICDE " +
			"2008. Verified: each account is what the committed operations make of it.",
		Params:  Params{Keys: 18_000, ReadPct: Unset, Theta: Unset},
		MinKeys: 2,
		Build: func(m *Model) {
			opening := func(int64) int64 { return 10_000 }
			savings := m.Table(Table{Name: "savings", Records: m.Keys, Number: opening})
			checking := m.Table(Table{Name: "checking", Records: m.Keys, Number: opening})
			customer := m.Hot(m.Keys, 0.0556, 0.9)
			m.View("balance", 20, func(tx *Tx) error {
				c := tx.Draw(customer)
				tx.Get(savings, c)
				tx.Get(checking, c)
				return nil
			})
			m.Update("deposit_checking", 20, func(tx *Tx) error {
				k := tx.Get(checking, tx.Draw(customer))
				tx.Set(k, k.Number+int64(1+tx.Below(100)))
				return nil
			})
			m.Update("transact_saving", 20, func(tx *Tx) error {
				s, v := tx.Get(savings, tx.Draw(customer)), int64(tx.Below(201)-100)
				if s.Number+v >= 0 {
					tx.Set(s, s.Number+v)
				}
				return nil
			})
			m.Update("amalgamate", 20, func(tx *Tx) error {
				c := tx.Draw(customer)
				d := tx.Draw(customer)
				for d == c {
					d = int64(tx.Below(m.Keys))
				}
				s, k := tx.Get(savings, c), tx.Get(checking, c)
				tx.Set(s, 0)
				tx.Set(k, 0)
				to := tx.Get(checking, d)
				tx.Set(to, to.Number+s.Number+k.Number)
				return nil
			})
			m.Update("write_check", 20, func(tx *Tx) error {
				c, v := tx.Draw(customer), int64(1+tx.Below(100))
				s, k := tx.Get(savings, c), tx.Get(checking, c)
				penalty := int64(0)
				if s.Number+k.Number < v {
					penalty = 1
				}
				tx.Set(k, k.Number-v-penalty)
				return nil
			})
		},
	}
}
