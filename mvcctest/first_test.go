package mvcctest_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/mvcctest"
)

// A Bank is a program to be tested.
type Bank struct {
	db       *mvcc.DB
	accounts *mvcc.Map[string, int]
}

func NewBank(db *mvcc.DB) *Bank {
	return &Bank{db, mvcc.NewTable[string, int](db, "accounts", nil)}
}

func (b *Bank) Transfer(from, to string, amount int) error {
	return b.db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		accounts := b.accounts.In(tx)
		old, _ := accounts.Get(from)
		accounts.Set(from, old-amount)
		accounts.Merge(to, func(old int, _ bool) int { return old + amount })
		return nil
	})
}

func TestTransfer(t *testing.T) {
	db := mvcc.NewDB(mvcctest.Options(t, nil))
	defer db.Close()
	bank := NewBank(db)
	if err := bank.Transfer("ada", "bob", 3); err != nil {
		t.Fatal(err)
	}
}

// The first test of the documentation is the one above.
func TestFirst(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	program, err := os.ReadFile("first_test.go")
	require.NoError(t, err)
	first := ""
	for line := range strings.Lines(string(doc)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			first += code
		}
	}
	require.Contains(t, first, "func TestTransfer")
	require.Contains(t, string(program), first)
}
