package bench

// ycsbWorkloads are the core workloads of YCSB.
func ycsbWorkloads() (list []Workload) {
	const record = " A record is one value of --value-size bytes, where YCSB has ten fields of 100. Source: " +
		"B. F. Cooper, A. Silberstein, E. Tam, R. Ramakrishnan, R. Sears: Benchmarking Cloud Serving Systems " +
		"with YCSB. SoCC 2010. Verified as read-heavy, with every byte of the values."
	add := func(name string, readPct int, doc string, build func(m *Model, t *Table)) {
		p := Params{Keys: 1_000_000, ReadPct: readPct, Theta: 0.99, TxnSize: 1, ValueSize: ValueSize{100, 100}}
		list = append(list, Workload{
			Name: name, Doc: doc + record, Params: p, OneKey: name < "ycsb-e",
			Build: func(m *Model) {
				build(m, m.Table(Table{Name: "usertable", Records: m.Keys, Size: m.ValueSize,
					Ordered: name == "ycsb-e", Hashed: name == "ycsb-e"}))
			},
		})
	}
	update := func(m *Model, t *Table) { getPut(m, t, m.Scrambled(m.Keys, m.Theta)) }
	insert := func(m *Model, t *Table) {
		m.Update("insert", float64(100-m.ReadPct), func(tx *Tx) error {
			tx.Insert(t, tx.New(t), 0)
			return nil
		})
	}
	add("ycsb-a", 50, "YCSB A, update heavy: 50 % get, 50 % put.", update)
	add("ycsb-b", 95, "YCSB B, read mostly: 95 % get, 5 % put.", update)
	add("ycsb-c", 100, "YCSB C, read only.", update)
	add("ycsb-d", 95, "YCSB D, read latest: 95 % get, the newest records most, 5 % insert. A get may come "+
		"before the insert of its record has ended, and then finds nothing.", func(m *Model, t *Table) {
		latest := m.Latest(t, m.Theta)
		m.View("get", float64(m.ReadPct), func(tx *Tx) error {
			tx.Get(t, tx.Draw(latest))
			return nil
		})
		insert(m, t)
	})
	add("ycsb-e", 95, "YCSB E, short ranges: 95 % scan of 1 to 100 records in the order of hashed keys, 5 % "+
		"insert of a record somewhere among them.", func(m *Model, t *Table) {
		some := m.Scrambled(m.Keys, m.Theta)
		m.View("scan", float64(m.ReadPct), func(tx *Tx) error {
			tx.Range(t, tx.Draw(some), 1+tx.Below(100))
			return nil
		})
		insert(m, t)
	})
	add("ycsb-f", 50, "YCSB F, read-modify-write: 50 % get, 50 % get and put of one record, each in one "+
		"transaction.", func(m *Model, t *Table) {
		some := m.Scrambled(m.Keys, m.Theta)
		m.View("get", float64(m.ReadPct), func(tx *Tx) error {
			tx.Get(t, tx.Draw(some))
			return nil
		})
		m.Update("read_modify_write", float64(100-m.ReadPct), func(tx *Tx) error {
			key := tx.Draw(some)
			tx.Get(t, key)
			tx.Put(t, key)
			return nil
		})
	})
	return list
}
