package bench

// openingBalance is the first balance of each account. Balances may go below zero: every
// operation writes, whatever the balance.
const openingBalance = 1_000

// accountGroup is how many accounts range-audit adds up at a time.
const accountGroup = 100

// transferWorkloads move amounts between accounts.
func transferWorkloads() []Workload {
	w := Workload{
		Name: "transfer",
		Doc: "Move an amount between two accounts picked at random: read 2, write 2 in one transaction. " +
			"Meanwhile an auditor scans all accounts, every --audit-interval, and checks the sum; at the " +
			"end each account must hold what the transfers make of it.",
		Params:  Params{Keys: 10_000, ReadPct: Unset, Theta: Unset},
		MinKeys: 2,
		Build: func(m *Model) {
			accounts := m.accounts(false)
			m.Update("transfer", 1, func(tx *Tx) error {
				transfer(tx, accounts, 0, m.Keys)
				return nil
			})
			m.Audit(func(tx *Tx) error {
				sum, n := tx.Sum(accounts)
				if want := int64(m.Keys) * openingBalance; sum != want || n != m.Keys {
					return Violated("an audit found %d accounts with %d in all, instead of %d with %d", n, sum,
						m.Keys, want)
				}
				return nil
			})
		},
	}
	busy := w
	busy.Name, busy.restless = "audited", true
	busy.Doc = "The same as transfer, while one audit follows another without a pause, so that " +
		"somebody reads all accounts all the time; each sum must be right. " +
		"Its figures are to be compared with those of transfer."
	ranges := Workload{
		Name: "range-audit",
		Doc: "The accounts are in groups of 100 that follow each other. Add up a group picked at random, " +
			"which is a range of keys, or, as --read-pct says, move an amount between two accounts of a " +
			"group. Every sum must be what it was at first, and at the end each account must hold what " +
			"the transfers make of it.",
		Params:  Params{Keys: 10_000, ReadPct: 50, Theta: Unset},
		MinKeys: accountGroup,
		Build: func(m *Model) {
			accounts := m.accounts(true)
			m.View("audit", float64(m.ReadPct), func(tx *Tx) error {
				low, sum := tx.Below(m.Keys/accountGroup)*accountGroup, int64(0)
				items := tx.Range(accounts, int64(low), accountGroup)
				for _, item := range items {
					sum += item.Number
				}
				if len(items) != accountGroup || sum != accountGroup*openingBalance {
					return Violated("the group from account %d on has %d accounts and %d in all, not %d and %d",
						low, len(items), sum, accountGroup, accountGroup*openingBalance)
				}
				return nil
			})
			m.Update("transfer", float64(100-m.ReadPct), func(tx *Tx) error {
				transfer(tx, accounts, tx.Below(m.Keys/accountGroup)*accountGroup, accountGroup)
				return nil
			})
		},
	}
	return []Workload{w, busy, ranges}
}

func (m *Model) accounts(ordered bool) *Table {
	return m.Table(Table{Name: "accounts", Records: m.Keys, Ordered: ordered,
		Number: func(int64) int64 { return openingBalance }})
}

// transfer moves an amount between two of n accounts from number low on.
func transfer(tx *Tx, accounts *Table, low, n int) {
	from := tx.Below(n)
	to := tx.Below(n - 1)
	if to >= from {
		to++
	}
	amount := int64(1 + tx.Below(100))
	a, b := tx.Get(accounts, int64(low+from)), tx.Get(accounts, int64(low+to))
	tx.Set(a, a.Number-amount)
	tx.Set(b, b.Number+amount)
}
