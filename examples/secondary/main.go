// Secondary keeps users by their ID and finds them by their mail address: an index is a table
// that is written in the same transaction, so whoever sees one sees the other.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

type user struct{ name, mail string }

type users struct {
	db     *mvcc.DB
	byID   *mvcc.Map[int, user]
	byMail *mvcc.Map[string, int] // the ID
}

func newUsers() users {
	db := mvcc.NewDB(nil)
	return users{db, mvcc.NewTable[int, user](db, "users", nil), mvcc.NewTable[string, int](db, "mails", nil)}
}

var (
	errMailTaken = errors.New("mail address in use")
	errNoUser    = errors.New("no such user")
)

// put writes a user and keeps the index right. Every write of a user goes through it.
func (u users) put(ctx context.Context, id int, record user) error {
	return u.db.Update(ctx, nil, func(tx mvcc.DBTx) error {
		byID, byMail := u.byID.In(tx), u.byMail.In(tx)
		if owner, ok := byMail.Get(record.mail); ok && owner != id {
			return fmt.Errorf("%s: %w", record.mail, errMailTaken)
		}
		if old, ok := byID.Get(id); ok && old.mail != record.mail {
			byMail.Delete(old.mail)
		}
		byMail.Set(record.mail, id)
		byID.Set(id, record)
		return nil
	})
}

// find finds a user. Both reads are of one moment: so the index never points to nobody.
func (u users) find(mail string) (found user, err error) {
	err = u.db.View(func(s mvcc.DBSnapshot) error {
		id, ok := u.byMail.At(s).Get(mail)
		if !ok {
			return fmt.Errorf("%s: %w", mail, errNoUser)
		}
		found, _ = u.byID.At(s).Get(id)
		return nil
	})
	return found, err
}

func main() {
	ctx, u := context.Background(), newUsers()
	defer u.db.Close()
	fmt.Println(u.put(ctx, 1, user{"Alice", "alice@example.com"}))
	fmt.Println(u.put(ctx, 2, user{"Bob", "alice@example.com"}))
	fmt.Println(u.put(ctx, 2, user{"Bob", "bob@example.com"}))
	fmt.Println(u.put(ctx, 1, user{"Alice", "a@example.com"})) // she moves
	fmt.Println(u.find("a@example.com"))
	fmt.Println(u.find("alice@example.com"))
	fmt.Println(u.byID.Len(), "users,", u.byMail.Len(), "addresses")
}
