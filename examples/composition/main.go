// Composition builds large transactions of functions that are useful alone. There are two ways:
// a helper that takes whatever it is to write to, and a function that joins the transaction of
// its context, if there is one. In neither does a step write on the map itself within a
// transaction: that would not be part of it, and could put it in its own way.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// takeFrom is of the first kind. As a type parameter a transaction costs no allocation.
func takeFrom[W mvcc.ReadWriter[string, int]](w W, key string, n int) error {
	left, _ := w.Get(key)
	if left < n { // on a Map somebody may write between this and the Set: for one goroutine
		return fmt.Errorf("%d of %s: %w", n, key, errTooFew)
	}
	w.Set(key, left-n)
	return nil
}

var errTooFew = errors.New("too few left")

// inTx is for the second kind: it calls fn in the transaction on m that ctx carries, or else
// in one of its own. fn passes its context on to functions that shall join, and to no goroutine
// of its own: a transaction is for one at a time, and ends with the outermost inTx.
func inTx[K comparable, V any](ctx context.Context, m *mvcc.Map[K, V],
	fn func(ctx context.Context, tx mvcc.Tx[K, V]) error,
) error {
	if tx, ok := ctx.Value(txOf[K, V]{m}).(mvcc.Tx[K, V]); ok {
		// If fn fails, and its caller goes on, nothing half done is left.
		return tx.Savepoint(func() error { return fn(ctx, tx) })
	}
	return m.Update(ctx, nil, func(tx mvcc.Tx[K, V]) error {
		return fn(context.WithValue(ctx, txOf[K, V]{m}, tx), tx)
	})
}

// txOf is the key of a transaction in a context. Each map has its own.
type txOf[K comparable, V any] struct{ m *mvcc.Map[K, V] }

type (
	Tx   = mvcc.Tx[string, int]
	shop struct{ m *mvcc.Map[string, int] }
)

// payBill and pickItem know nothing of each other, and each is a transaction when called alone.
func (s shop) payBill(ctx context.Context, who string, amount int) error {
	return inTx(ctx, s.m, func(_ context.Context, tx Tx) error {
		tx.Merge("income", func(sum int, _ bool) int { return sum + amount })
		return takeFrom(tx, who, amount)
	})
}

func (s shop) pickItem(ctx context.Context, item string, n int) error {
	return inTx(ctx, s.m, func(_ context.Context, tx Tx) error { return takeFrom(tx, item, n) })
}

// order is both, or nothing. The gift is added if there is one left.
func (s shop) order(ctx context.Context, who, item string, price int) error {
	return inTx(ctx, s.m, func(ctx context.Context, tx Tx) error {
		if err := s.payBill(ctx, who, price); err != nil {
			return err
		}
		if err := s.pickItem(ctx, "gift", 1); err != nil && !errors.Is(err, errTooFew) {
			return err
		}
		return s.pickItem(ctx, item, 1)
	})
}

func main() {
	ctx := context.Background()
	s := shop{mvcc.New[string, int](nil)}
	defer s.m.Close()
	for key, n := range map[string]int{"alice": 100, "tea": 2, "gift": 1} {
		s.m.Store(key, n)
	}

	for range 3 {
		fmt.Println(s.order(ctx, "alice", "tea", 30))
	}
	fmt.Println(s.payBill(ctx, "alice", 50))
	fmt.Println(s.payBill(ctx, "alice", 40), takeFrom(s.m, "alice", 1)) // also without a transaction
	income, _ := s.m.Load("income")
	fmt.Println("income:", income)
}
