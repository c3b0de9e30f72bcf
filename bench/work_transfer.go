package bench

func transferWorkloads() []Workload {
	w := Workload{
		Name: "transfer",
		Doc: "Move an amount between two accounts picked at random: " +
			"read 2, write 2 in one transaction. Meanwhile an auditor scans all accounts, every " +
			"--audit-interval, and checks the sum; " +
			"at the end each account must hold what the transfers make of it.",
		Params:  Params{Keys: 10_000, ReadPct: Unset, Theta: Unset},
		kind:    transfer,
		minKeys: 2, maxKeys: manyKeys,
		multiKey: true, audits: true, operation: transferOperation,
	}
	busy := w
	busy.Name, busy.restless = "audited", true
	busy.Doc = "The same as transfer, while one audit follows another without a pause, so that " +
		"somebody reads all accounts all the time; each sum must be right. " +
		"Its figures are to be compared with those of transfer."
	return []Workload{w, busy}
}

// openingBalance is what each account holds at first. Balances may go below
// zero: every operation writes, whatever the balance.
const openingBalance = 1_000

type transferJob struct{ added }

func (j *transferJob) task(i int, s Session[uint64]) task {
	session, ok := s.(Transferer)
	if !ok {
		return nil
	}
	return j.adds(&transferTask{
		transfer: session,
		keys:     j.rig.list,
		pick:     j.rig.streamFor(i, forPick),
		amount:   j.rig.streamFor(i, forAmount),
		moved:    numbers(len(j.rig.list)),
	})
}

func (j *transferJob) verify() error {
	if err := j.rig.audits.do(); err != nil {
		return err
	}
	return j.added.verify()
}

// transferTask moves amounts between accounts.
type transferTask struct {
	transfer Transferer
	keys     []string
	pick     stream
	amount   stream
	moved    []uint64 // by account: what the committed transfers add to it, modulo 2^64
}

func (t *transferTask) do() error { return t.move(0, len(t.keys)) }

// move moves an amount between two of n accounts from number low on.
func (t *transferTask) move(low, n int) error {
	from := t.pick.below(n)
	to := t.pick.below(n - 1)
	if to >= from {
		to++
	}
	from, to = low+from, low+to
	amount := uint64(1 + t.amount.below(100))
	if err := t.transfer.Transfer(t.keys[from], t.keys[to], amount); err != nil {
		return err
	}
	t.moved[from] -= amount
	t.moved[to] += amount
	return nil
}

func (t *transferTask) addTo(sums []uint64) {
	for k, amount := range t.moved {
		sums[k] += amount
	}
}

func (j *transferJob) auditor(s Session[uint64]) (auditor, error) {
	session, ok := s.(Transferer)
	if !ok {
		return nil, errUnsupported
	}
	return &sumAuditor{transfer: session, keys: len(j.rig.list)}, nil
}

// sumAuditor checks the sum of all accounts, as of one moment.
type sumAuditor struct {
	transfer Transferer
	keys     int
	audits   uint64
}

func (a *sumAuditor) do() error {
	a.audits++
	total, n, err := a.transfer.Sum()
	if err != nil {
		return err
	}
	if n != a.keys {
		return wrong("", "audit %d counted %d accounts instead of %d", a.audits, n, a.keys)
	}
	if want := uint64(a.keys) * openingBalance; total != want {
		return wrong("", "audit %d found a total of %d instead of %d", a.audits, int64(total), want)
	}
	return nil
}
