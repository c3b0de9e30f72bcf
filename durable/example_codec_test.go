package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A test finds out with Strict which values a codec of the program's own would change.
func ExampleStrict() {
	own := durable.Codec{
		Name:       "own",
		NewEncoder: func(w io.Writer) interface{ Encode(v any) error } { return json.NewEncoder(w) },
		NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return json.NewDecoder(r) },
	}
	type user struct {
		Name string
		age  int
	}
	db := mvcc.NewDB(nil)
	defer db.Close()
	mvcc.NewTable[int, user](db, "users", nil).Store(1, user{"Ada", 36})
	_, err := durable.Save(context.Background(), db, io.Discard, own, nil)
	fmt.Println(err)
	_, err = durable.Save(context.Background(), db, io.Discard, durable.Strict(own), nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// durable: table "users", key 1: the codec own cannot save the record: V.age is 36, and becomes 0
}
