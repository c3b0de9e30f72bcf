package mvcc_test

import (
	"context"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// library returns a database of two tables, with an index, for examples.
func library() (db *mvcc.DB, books *mvcc.Map[string, string]) {
	db = mvcc.NewDB(nil)
	books = mvcc.NewOrderedTable[string, string](db, "books", nil)
	mvcc.NewTable[int, []string](db, "loans", nil)
	author := func(_, author string) []string { return []string{author} }
	if _, err := mvcc.NewIndex(books, "author", author, nil); err != nil {
		panic(err)
	}
	books.Store("Emma", "Austen")
	books.Store("Persuasion", "Austen")
	books.Store("Middlemarch", "Eliot")
	return db, books
}

// A tool shows what there is in a database of which it knows nothing.
func ExampleDB_Describe() {
	db, _ := library()
	defer db.Close()

	for _, t := range db.Describe().Tables {
		fmt.Println(t.Name, t.Key, t.Value, t.Stats.Keys, len(t.Indexes))
	}
	// Output:
	// books string string 3 1
	// loans int []string 0 0
}

// Who keeps old versions, and who follows?
func ExampleDescription() {
	db, books := library()
	defer db.Close()
	s := books.Snapshot()
	defer s.Close()

	d := db.Describe()
	fmt.Println(len(d.Tables), "tables,", len(d.Readers), "reader,", len(d.Watches), "watches")
	// Output: 2 tables, 1 reader, 0 watches
}

func ExampleTableInfo() {
	db, _ := library()
	defer db.Close()

	t := db.Describe().Tables[0]
	fmt.Println(t.Name, t.Ordered, t.Natural, t.Expires)
	// Output: books true true false
}

func ExampleIndexInfo() {
	db, _ := library()
	defer db.Close()

	ix := db.Describe().Tables[0].Indexes[0]
	fmt.Println(ix.Name, ix.Key, ix.Unique, ix.Entries, ix.Keys)
	// Output: author string false 3 2
}

// A loop that does not come lets changes wait.
func ExampleWatchInfo() {
	db, books := library()
	defer db.Close()
	watch := books.Watch(context.Background(), &mvcc.WatchOptions[string, string]{Buffer: 100})
	books.Store("Silas Marner", "Eliot")
	db.RequestProgress()

	w := db.Describe().Watches[0]
	fmt.Println(w.Table, w.Waiting, "of", w.Buffer)
	for _, err := range watch {
		if err == nil {
			break
		}
	}
	// Output: books 1 of 100
}

func ExampleReaderInfo() {
	db, books := library()
	defer db.Close()
	s := books.Snapshot()
	defer s.Close()

	r := db.Describe().Readers[0]
	fmt.Println(r.Epoch == s.Epoch())
	// Output: true
}

func ExampleDBSnapshot_Tables() {
	db, books := library()
	defer db.Close()
	s := db.Snapshot()
	defer s.Close()
	books.Close()

	fmt.Println(s.Tables(), db.Tables())
	// Output: [books loans] [loans]
}
