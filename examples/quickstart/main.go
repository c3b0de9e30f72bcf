package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

func main() {
	m := mvcc.New[string, int](nil)
	defer m.Close()
	m.Store("alice", 100) // one key at a time: as with sync.Map
	m.Store("bob", 20)

	errInsufficient := errors.New("insufficient funds")
	err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		from, _ := tx.Get("alice")
		if from < 30 {
			return errInsufficient // rolls back, and Update returns it
		}
		tx.Set("alice", from-30)
		tx.Merge("bob", func(to int, _ bool) int { return to + 30 })
		return nil // others see both writes, or neither
	})
	fmt.Println("transferred:", err == nil)

	_ = m.View(func(s mvcc.Snapshot[string, int]) error {
		sum := 0
		for _, balance := range s.All() { // as of one moment, whatever commits meanwhile
			sum += balance
		}
		fmt.Println("sum:", sum)
		return nil
	})
}
