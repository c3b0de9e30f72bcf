// Journal keeps a database on disk: what was committed is there again in the next life of the
// process, here the second part of main.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A Bank is a database, and what keeps it.
type Bank struct {
	db       *mvcc.DB
	accounts *mvcc.Map[string, int]
	journal  *journal.Journal
}

// open opens the bank in a folder. The tables have to be there before the journal is opened.
func open(dir string) (*Bank, error) {
	b := &Bank{db: mvcc.NewDB(nil)}
	b.accounts = mvcc.NewTable[string, int](b.db, "accounts", nil)
	var err error
	b.journal, err = journal.Open(context.Background(), dir, b.db, codec.Gob, nil)
	return b, err
}

// transfer returns when the money has been moved, and that is on disk. What is wrong with the disk
// does not undo it: it is known to others already.
func (b *Bank) transfer(ctx context.Context, from, to string, amount int) error {
	err := b.accounts.Update(ctx, nil, func(tx mvcc.Tx[string, int]) error {
		has, _ := tx.Get(from)
		if has < amount {
			return fmt.Errorf("%s has only %d", from, has)
		}
		tx.Set(from, has-amount)
		tx.Merge(to, func(old int, _ bool) int { return old + amount })
		return nil
	})
	if err != nil {
		return err
	}
	return b.journal.Sync(ctx)
}

func (b *Bank) close() {
	if err := b.journal.Close(); err != nil {
		log.Print(err)
	}
	b.db.Close()
}

func main() {
	dir, err := os.MkdirTemp("", "bank")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	bank, err := open(dir)
	if err != nil {
		log.Fatal(err)
	}
	bank.accounts.Store("ada", 100)
	fmt.Println(bank.transfer(context.Background(), "ada", "bob", 30))
	fmt.Println(bank.transfer(context.Background(), "bob", "ada", 50))
	bank.close()

	if bank, err = open(dir); err != nil {
		log.Fatal(err)
	}
	fmt.Println(maps.Collect(bank.accounts.All()))
	bank.close()
}
