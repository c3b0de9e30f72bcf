// The first mistakes with a database: the compiler's messages name nothing that a program cannot
// see.
package main

import (
	"context"

	"github.com/mvccmap/mvccmap/mvcc"
)

func main() {
	db := mvcc.NewDB(nil)
	users := mvcc.NewTable[string, int](db, "users", nil)
	byAge, _ := mvcc.NewIndex(users, "age", func(_ string, age int) []int { return []int{age} }, nil)
	tx, s := db.Begin(nil), db.Snapshot()
	byAge.First(tx, 18)
	byAge.First(db, 18)
	byAge.Count(s, mvcc.From(18))
	byAge.Changed(context.Background(), s, 18)
	helper(tx)
	helper(users.At(s))
	helper(s)
	users.In(s)
	users.At(tx)
	users.In(db)
	users.In(users.Begin(nil))
	users.Get(tx, "ada")
	tx.Get("ada")
	tx.Set("ada", 36)
	tx.Put("ada", 36)
	tx.Has("ada")
	tx.Len()
	tx.All()
	tx.Clear()
	s.All()
	s.Len()
	db.Len()
	mvcc.CountRange(tx, mvcc.From("ada"))
	mvcc.CompareAndSwap(users.In(tx), "ada", 36, 37)
	mvcc.UpdateValue(context.Background(), db, nil, func(tx mvcc.DBTx) (int, error) { return 0, nil })
	db.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error { return nil })
	users.Update(context.Background(), nil, func(tx mvcc.DBTx) error { return nil })
	users.View(func(s mvcc.DBSnapshot) error { return nil })
	mvcc.NewIndex(db, "age", func(_ string, age int) []int { return nil }, nil)
	mvcc.NewIndex(users, "age", func(_ string, age int) int { return age }, nil)
	users.OnExpire(func(tx mvcc.Tx[string, int], key string, age int) error { return nil })
	var _ mvcc.Table[string, int] = users
	var _ mvcc.Map[string, int] = users
}

func helper(mvcc.ReadWriter[string, int]) {}
