// Secondary keeps users by their ID and finds them by their mail address. As a transaction is
// over one map, records and index are in the same one: keys and values are interfaces, and
// two small functions are the only ones that know.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

type (
	userID int    // the key of a user
	mail   string // the key of a userID

	user struct {
		name string
		mail mail
	}

	DB = mvcc.Map[any, any] // userID -> user, mail -> userID
	Tx = mvcc.Tx[any, any]
)

var (
	errMailTaken = errors.New("mail address in use")
	errNoUser    = errors.New("no such user")
)

// get returns the value of key, which is of type V. A program with many kinds of records has
// a type of its own for each kind of key: so keys of two kinds never meet.
func get[V any, R mvcc.Reader[any, any]](r R, key any) (value V, ok bool) {
	found, ok := r.Get(key)
	if !ok {
		return value, false
	}
	return found.(V), true
}

// put writes a user and keeps the index right, in the same transaction: whoever sees one sees
// the other. Every write of a user goes through it.
func put(tx Tx, id userID, u user) error {
	if owner, ok := get[userID](tx, u.mail); ok && owner != id {
		return fmt.Errorf("%s: %w", u.mail, errMailTaken)
	}
	if old, ok := get[user](tx, id); ok && old.mail != u.mail {
		tx.Delete(old.mail)
	}
	tx.Set(u.mail, id)
	tx.Set(id, u)
	return nil
}

// byMail finds a user. Both reads are of one moment: so the index never points to nobody.
func byMail(m *DB, address mail) (user, error) {
	return mvcc.ViewValue(m, func(s mvcc.Snapshot[any, any]) (user, error) {
		id, ok := get[userID](s, address)
		if !ok {
			return user{}, fmt.Errorf("%s: %w", address, errNoUser)
		}
		u, _ := get[user](s, id)
		return u, nil
	})
}

func main() {
	ctx := context.Background()
	m := mvcc.New[any, any](nil)
	defer m.Close()
	save := func(id userID, u user) error {
		return m.Update(ctx, nil, func(tx Tx) error { return put(tx, id, u) })
	}

	fmt.Println(save(1, user{"Alice", "alice@example.com"}))
	fmt.Println(save(2, user{"Bob", "alice@example.com"}))
	fmt.Println(save(2, user{"Bob", "bob@example.com"}))
	fmt.Println(save(1, user{"Alice", "a@example.com"})) // she moves
	fmt.Println(byMail(m, "a@example.com"))
	fmt.Println(byMail(m, "alice@example.com"))
	fmt.Println(m.Len(), "keys")
}
