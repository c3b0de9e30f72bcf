// Secondary finds users by their mail address, of which no two have the same, and in the order
// of their ages: indexes that every write of a user keeps right.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/mvccmap/mvccmap/mvcc"
)

type user struct {
	name, mail string
	age        int
}

type users struct {
	*mvcc.Map[int, user]
	byMail *mvcc.Index[string, int, user]
	byAge  *mvcc.Index[int, int, user]
}

func newUsers(db *mvcc.DB) (users, error) {
	all := mvcc.NewTable[int, user](db, "users", nil)
	byMail, err := mvcc.NewIndex(all, "by mail", func(_ int, u user) []string {
		return []string{u.mail}
	}, &mvcc.IndexOptions{Unique: true})
	if err != nil {
		return users{}, err
	}
	byAge, err := mvcc.NewOrderedIndex(all, "by age", func(_ int, u user) []int {
		return []int{u.age}
	}, nil)
	return users{all, byMail, byAge}, err
}

// put writes a user, unless somebody else has the address.
func (u users) put(ctx context.Context, id int, record user) error {
	return u.Update(ctx, nil, func(tx mvcc.Tx[int, user]) error {
		tx.Set(id, record)
		return nil
	})
}

func main() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	u, err := newUsers(db)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	fmt.Println(u.put(ctx, 1, user{"Alice", "alice@example.com", 40}))
	var taken *mvcc.UniqueError
	err = u.put(ctx, 2, user{"Bob", "alice@example.com", 30})
	fmt.Println(errors.As(err, &taken), err)
	fmt.Println(u.put(ctx, 2, user{"Bob", "bob@example.com", 30}))
	fmt.Println(u.put(ctx, 1, user{"Alice", "a@example.com", 40})) // she moves
	fmt.Println(u.byMail.First(u.Map, "a@example.com"))
	fmt.Println(u.byMail.First(u.Map, "alice@example.com"))
	for _, record := range u.byAge.Ascend(u.Map, mvcc.From(18)) {
		fmt.Println(record.name, record.age)
	}
}
