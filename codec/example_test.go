package codec_test

import (
	"context"
	"fmt"
	"io"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A test finds out with Strict what a codec would change.
func ExampleStrict() {
	type user struct {
		Name string
		age  int
	}
	db := mvcc.NewDB(nil)
	defer db.Close()
	mvcc.NewTable[int, user](db, "users", nil).Store(1, user{"Ada", 36})
	_, err := db.Save(context.Background(), io.Discard, codec.Gob, nil)
	fmt.Println(err)
	_, err = db.Save(context.Background(), io.Discard, codec.Strict(codec.Gob), nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// mvcc: table "users", key 1: the codec gob cannot save the record: V.age is 36, and becomes 0
}
