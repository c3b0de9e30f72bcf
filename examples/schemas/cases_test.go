// Package schemas_test has the cases of docs/schemas.md: the work of a program when its types or
// tables change, case by case. Types with a V1 are those of the version before.
package schemas_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Opening, with all migrations that the program has had.

var options = &durable.Options{
	Version:  3,
	Versions: []int{1, 2},
	Rename:   map[string]string{"clients": "customers"},
	Migrate:  []durable.Migration{fullNames, agesAsNumbers, byMail},
}

func open(ctx context.Context, db *mvcc.DB, dir string) (*durable.Journal, error) {
	return durable.Open(ctx, db, dir, options)
}

// A field is added: with a value for old records.

type GuestV1 struct{ Name string }

type Guest struct {
	Name     string
	Language string
}

var languages = durable.Migrate("guests", func(key int, old GuestV1) (Guest, error) {
	return Guest{old.Name, "en"}, nil
})

// A field is renamed.

type Member struct {
	FullName string
	Address  struct{ Road string }
}

var fullNames = durable.RenameFields("members", map[string]string{
	"Name":           "FullName",
	"Address.Street": "Address.Road",
})

// A field has another type. Records that mean nothing any more are dropped, and an error ends Open.

type VisitorV1 struct{ Age string }

type Visitor struct{ Age int }

var agesAsNumbers = durable.Migrate("visitors", func(key int, old VisitorV1) (Visitor, error) {
	if old.Age == "" {
		return Visitor{}, durable.ErrDrop
	}
	age, err := strconv.Atoi(old.Age)
	return Visitor{age}, err
})

// Keys are of another type: here they were numbers, and are mails.

type AccountV1 struct{ Mail, Name string }

type Account struct {
	Name string
	ID   int
}

var byMail = durable.MigrateTo("accounts", "accounts",
	func(id int, old AccountV1) (string, Account, error) {
		return strings.ToLower(old.Mail), Account{old.Name, id}, nil
	})

// A table is split.

type PersonV1 struct{ Name, Mail, Street string }

type Person struct{ Name, Mail string }

type Address struct{ Street string }

var split = []durable.Migration{
	durable.MigrateTo("persons", "persons", func(id int, old PersonV1) (int, Person, error) {
		return id, Person{old.Name, old.Mail}, nil
	}),
	durable.MigrateTo("persons", "addresses", func(id int, old PersonV1) (int, Address, error) {
		if old.Street == "" {
			return 0, Address{}, durable.ErrDrop
		}
		return id, Address{old.Street}, nil
	}),
}

// Keys that records of another table refer to.

type TeamV1 struct{ Name string }

type Team struct {
	Name string
	ID   int
}

type PlayerV1 struct{ TeamID int }

type Player struct{ Team string }

func teamsByName() []durable.Migration {
	names := map[int]string{} // the new keys, by the old ones
	return []durable.Migration{
		durable.MigrateTo("teams", "teams", func(id int, old TeamV1) (string, Team, error) {
			names[id] = strings.ToLower(old.Name)
			return names[id], Team{old.Name, id}, nil
		}),
		durable.Migrate("players", func(id int, old PlayerV1) (Player, error) {
			name, there := names[old.TeamID]
			if !there {
				return Player{}, fmt.Errorf("there is no team %d", old.TeamID)
			}
			return Player{name}, nil
		}).After("teams"),
	}
}

// An index becomes unique: the second of two records with one mail loses it.

type Reader struct{ Mail string }

func mailOf(_ int, r Reader) []string {
	if r.Mail == "" {
		return nil
	}
	return []string{r.Mail}
}

func byUniqueMail(readers *mvcc.Map[int, Reader]) (*mvcc.Index[string, int, Reader], error) {
	unique := &mvcc.IndexOptions{Unique: true}
	ix, err := mvcc.NewIndex(readers, "mail", mailOf, unique)
	if pairs := new(mvcc.UniqueError); errors.As(err, &pairs) {
		for _, pair := range append(pairs.Others, pairs) {
			fmt.Printf("reader %v has the mail of reader %v\n", pair.Records[1], pair.Records[0])
			readers.Store(pair.Records[1].(int), Reader{})
		}
		ix, err = mvcc.NewIndex(readers, "mail", mailOf, unique)
	}
	return ix, err
}

// Back to the program before.

func goBack(dir string) error {
	back := dir + ".back"
	if err := os.Rename(filepath.Join(dir, "before"), back); err != nil {
		return err // fs.ErrNotExist: nothing was kept, or its time is over
	}
	if err := os.Rename(dir, dir+".now"); err != nil {
		return err
	}
	return os.Rename(back, dir)
}
