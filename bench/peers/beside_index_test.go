package peers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cilium/statedb"
	"github.com/cilium/statedb/index"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// 10^5 accounts, and an index that has ten of them for each group: the map beside statedb.

const (
	accounts = 100_000
	groups   = accounts / 10
)

// An account is a record of both. statedb has pointers to it, which nobody writes through.
type account struct{ id, group, balance int }

// A ledger is a store of the accounts.
type ledger struct {
	group    func(group int, visit func(a account)) // visits the accounts of a group
	transfer func(from, to int) error               // moves 1
}

func mapLedger(b *testing.B) ledger {
	table := mvcc.NewTable[int, account](mvcc.NewDB(nil), "accounts", nil)
	byGroup, err := mvcc.NewIndex(table, "group",
		func(_ int, a account) []int { return []int{a.group} }, nil)
	require.NoError(b, err)
	for _, id := range rand.Perm(accounts) {
		table.Store(id, account{id, id % groups, 1})
	}
	return ledger{
		group: func(group int, visit func(a account)) {
			_ = table.View(func(s mvcc.Snapshot[int, account]) error {
				for _, a := range byGroup.Get(s, group) {
					visit(a)
				}
				return nil
			})
		},
		transfer: func(from, to int) error {
			return table.Update(context.Background(), nil, func(tx mvcc.Tx[int, account]) error {
				x, _ := tx.Get(from)
				y, _ := tx.Get(to)
				tx.Set(from, account{from, x.group, x.balance - 1})
				tx.Set(to, account{to, y.group, y.balance + 1})
				return nil
			})
		},
	}
}

func stateLedger(b *testing.B) ledger {
	db, none := statedb.New(), func() []string { return nil }
	byID := statedb.Index[*account, int]{Name: "id", FromKey: index.Int, Unique: true,
		FromObject: func(a *account) index.KeySet { return index.NewKeySet(index.Int(a.id)) }}
	byGroup := statedb.Index[*account, int]{Name: "group", FromKey: index.Int,
		FromObject: func(a *account) index.KeySet { return index.NewKeySet(index.Int(a.group)) }}
	table := statedb.MustNewTableAny(db, "accounts", none,
		func(*account) []string { return nil }, byID, byGroup)
	add := func(tx statedb.WriteTxn, id, delta int) {
		a, _, _ := table.Get(tx, byID.Query(id))
		_, _, err := table.Insert(tx, &account{id, a.group, a.balance + delta})
		require.NoError(b, err)
	}
	filling := db.WriteTxn(table)
	for _, id := range rand.Perm(accounts) {
		_, _, err := table.Insert(filling, &account{id, id % groups, 1})
		require.NoError(b, err)
	}
	filling.Commit()
	return ledger{
		group: func(group int, visit func(a account)) {
			for a := range table.List(db.ReadTxn(), byGroup.Query(group)) {
				visit(*a)
			}
		},
		transfer: func(from, to int) error {
			tx := db.WriteTxn(table)
			add(tx, from, -1)
			add(tx, to, 1)
			tx.Commit()
			return nil
		},
	}
}

// BenchmarkBesideIndex measures a look at the ten records of an index key, and a transfer in a
// table that has an index, after which no account is missing, nor any money.
func BenchmarkBesideIndex(b *testing.B) {
	for i, of := range []func(*testing.B) ledger{mapLedger, stateLedger} {
		name, store := []string{"mvcc", "statedb"}[i], of(b)
		look := func(group int) (sum int, err error) {
			n := 0
			store.group(group, func(a account) { n, sum = n+1, sum+a.balance })
			if n != accounts/groups {
				err = fmt.Errorf("%d accounts in group %d, want %d", n, group, accounts/groups)
			}
			return sum, err
		}
		beside(b, "lookup", name, func(_ int, r *rand.Rand) error {
			_, err := look(r.IntN(groups))
			return err
		})
		balanced := func(b *testing.B) {
			total := 0
			for group := range groups {
				sum, err := look(group)
				require.NoError(b, err)
				total += sum
			}
			require.Equal(b, accounts, total)
		}
		beside(b, "transfer-indexed", name, func(_ int, r *rand.Rand) error {
			from := r.IntN(accounts)
			return store.transfer(from, (from+1+r.IntN(accounts-1))%accounts)
		}, balanced)
	}
}
