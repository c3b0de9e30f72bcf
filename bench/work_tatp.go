package bench

// tatp is the benchmark of that name.
func tatp() Workload {
	return Workload{
		Name: "tatp",
		Doc: "TATP: the seven transactions on --keys subscribers, 80 % of them read, at the standard's mix. A " +
			"record is a number and bytes, so an update of a column writes the record; of each subscriber's 4 " +
			"kinds of access and of facilities each is there with the standard's mean, by itself, and so are " +
			"the 3 times of a forwarding. Inserts and deletes that find the record there, or not there, count " +
			"as done. Source: S. Neuvonen, A. Wolski, M. Manner, V. Raatikka: Telecom Application Transaction " +
			"Processing Benchmark (TATP), version 1.0, 2009. Verified: numbers, values and which records are " +
			"there.",
		Params: Params{Keys: 100_000, ReadPct: Unset, Theta: Unset},
		Build: func(m *Model) {
			small := ValueSize{16, 16}
			part := func(key, of int64, share int64) bool { return hashPart(key, of) < share }
			subscribers := m.Table(Table{Name: "subscriber", Records: m.Keys, Size: ValueSize{100, 100},
				Number: func(int64) int64 { return 0 }})
			byNumber := m.Table(Table{Name: "by_number", Records: m.Keys, Hashed: true,
				Number: func(k int64) int64 { return k }})
			access := m.Table(Table{Name: "access_info", Records: 4 * m.Keys, Size: small,
				Present: func(k int64) bool { return part(k, 1000, 625) }})
			facilities := m.Table(Table{Name: "special_facility", Records: 4 * m.Keys, Size: small,
				Present: func(k int64) bool { return part(k+1, 1000, 625) },
				Number:  func(k int64) int64 { return truth(part(k+2, 100, 85)) }})
			forwarding := m.Table(Table{Name: "call_forwarding", Records: 12 * m.Keys, Size: small,
				Deletes: true,
				Present: func(k int64) bool { return part(k/3+1, 1000, 625) && part(k+3, 2, 1) },
				Number:  func(k int64) int64 { return 8*(k%3) + 1 + hashPart(k+4, 8) }})
			drawn := m.NURand(65_535, m.Keys)
			subscriber := func(tx *Tx) int64 { return tx.Draw(drawn) }
			found := func(tx *Tx) int64 { return tx.Get(byNumber, subscriber(tx)).Number }

			m.View("get_subscriber_data", 35, func(tx *Tx) error {
				tx.Get(subscribers, subscriber(tx))
				return nil
			})
			m.View("get_new_destination", 10, func(tx *Tx) error {
				f, start := subscriber(tx)*4+int64(tx.Below(4)), tx.Below(3)
				if tx.Get(facilities, f).Number == 0 {
					return nil
				}
				for time := range int64(start + 1) {
					tx.Get(forwarding, f*3+time)
				}
				return nil
			})
			m.View("get_access_data", 35, func(tx *Tx) error {
				tx.Get(access, subscriber(tx)*4+int64(tx.Below(4)))
				return nil
			})
			m.Update("update_subscriber_data", 2, func(tx *Tx) error {
				s := tx.Get(subscribers, subscriber(tx))
				tx.Set(s, s.Number)
				if f := tx.Get(facilities, s.Key*4+int64(tx.Below(4))); f.OK {
					tx.Set(f, f.Number)
				}
				return nil
			})
			m.Update("update_location", 14, func(tx *Tx) error {
				tx.Set(tx.Get(subscribers, found(tx)), int64(tx.Below(1<<31)))
				return nil
			})
			m.Update("insert_call_forwarding", 2, func(tx *Tx) error {
				f := tx.Get(facilities, found(tx)*4+int64(tx.Below(4)))
				start := int64(tx.Below(3))
				if !f.OK {
					return nil
				}
				if c := tx.Get(forwarding, f.Key*3+start); !c.OK {
					tx.Set(c, 8*start+1+int64(tx.Below(8)))
				}
				return nil
			})
			m.Update("delete_call_forwarding", 2, func(tx *Tx) error {
				f := found(tx)*4 + int64(tx.Below(4))
				tx.Delete(tx.Get(forwarding, f*3+int64(tx.Below(3))))
				return nil
			})
		},
	}
}

// hashPart returns the hash of a key modulo of.
func hashPart(key, of int64) int64 { return int64(uint64(Hash(key)) % uint64(of)) }

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
