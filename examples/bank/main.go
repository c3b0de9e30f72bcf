// Bank moves money between accounts, in many goroutines, while an auditor adds up all
// balances: each sum is right, as a snapshot is of one moment.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

var (
	errNoAccount = errors.New("no such account")
	errNoFunds   = errors.New("insufficient funds")
	errAmount    = errors.New("the amount must be positive")
)

type bank struct {
	balances *mvcc.Map[string, int] // in cents
}

// transfer moves amount from one account to another.
//
// The trap is to read both balances first and to set both afterwards:
//
//	a, _ := tx.Get(from)
//	b, _ := tx.Get(to)
//	tx.Set(from, a-amount)
//	tx.Set(to, b+amount) // if from == to this is a+amount: money out of nothing
//
// No isolation level helps, as the transaction is wrong when it runs alone. So each balance is
// read just before it is set: a transaction reads its own writes.
func (b bank) transfer(ctx context.Context, from, to string, amount int) error {
	if amount <= 0 { // a negative amount would be a way to take money from others
		return errAmount
	}
	return b.balances.Update(ctx, nil, func(tx mvcc.Tx[string, int]) error {
		balance, ok := tx.Get(from)
		switch {
		case !ok:
			return fmt.Errorf("%s: %w", from, errNoAccount)
		case balance < amount:
			return fmt.Errorf("%s: %w", from, errNoFunds)
		}
		tx.Set(from, balance-amount)
		balance, ok = tx.Get(to)
		if !ok {
			return fmt.Errorf("%s: %w", to, errNoAccount) // takes back the Set as well
		}
		tx.Set(to, balance+amount)
		return nil
	})
}

// total adds up all balances, as of one moment.
func (b bank) total() (sum int) {
	for _, balance := range b.balances.All() {
		sum += balance
	}
	return sum
}

func main() {
	ctx := context.Background()
	b := bank{mvcc.New[string, int](nil)}
	defer b.balances.Close()
	names := []string{"alice", "bob", "carol", "dave"}
	for _, name := range names {
		b.balances.Store(name, 100_00)
	}

	fmt.Println("to herself:", b.transfer(ctx, "alice", "alice", 50_00), b.total())
	fmt.Println("too much:", b.transfer(ctx, "alice", "bob", 500_00), b.total())
	fmt.Println("to nobody:", b.transfer(ctx, "alice", "eve", 1), b.total())
	fmt.Println("backwards:", b.transfer(ctx, "alice", "bob", -1), b.total())

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				from, to := names[rand.IntN(len(names))], names[rand.IntN(len(names))]
				err := b.transfer(ctx, from, to, 1+rand.IntN(1000))
				if err != nil && !errors.Is(err, errNoFunds) {
					panic(err)
				}
			}
		})
	}
	wrong := 0
	for range 100 {
		if b.total() != len(names)*100_00 {
			wrong++
		}
	}
	wg.Wait()
	fmt.Println("audits that were wrong:", wrong, "total:", b.total())
}
