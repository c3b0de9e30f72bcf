package mvcc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// In a test a strict map shows that the function of Update may run again.
func ExampleOptions_strict() {
	m := mvcc.New[string, int](&mvcc.Options{Strict: true})
	defer m.Close()
	m.Store("a", 1)

	var found []int // should be set anew in the function
	_ = m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		a, _ := tx.Get("a")
		found = append(found, a)
		return nil
	})
	fmt.Println(found)

	_ = m.Update(context.Background(), nil, func(tx mvcc.Tx[string, int]) error {
		defer func() { fmt.Println(recover()) }()
		m.Get("a") // should be tx.Get
		return nil
	})
	// Output:
	// [1 1]
	// mvcc: Strict: the function of an Update reads the map beside its transaction
	// mvcc: Strict: the function of an Update reads the map beside its transaction
}

// What users type in may break a unique index: Put says so.
func ExampleMap_Put() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	mails := mvcc.NewTable[int, string](db, "mails", nil)
	_, _ = mvcc.NewIndex(mails, "by mail", func(_ int, mail string) []string {
		return []string{mail}
	}, &mvcc.IndexOptions{Unique: true})

	fmt.Println(mails.Put(1, "ada@example.com"))
	var taken *mvcc.UniqueError
	if err := mails.Put(2, "ada@example.com"); errors.As(err, &taken) {
		fmt.Println(taken.Key, "is that of", taken.Records[0])
	}
	// Output:
	// <nil>
	// ada@example.com is that of 1
}

// In a transaction a unique index is looked at when it commits.
func ExampleTx_Put() {
	rename := func(w mvcc.ReadWriter[int, string]) error { return w.Put(1, "grace") }
	m := mvcc.New[int, string](nil)
	defer m.Close()
	fmt.Println(rename(m))
	fmt.Println(m.Update(context.Background(), nil, func(tx mvcc.Tx[int, string]) error {
		return rename(tx)
	}))
	// Output:
	// <nil>
	// <nil>
}
