package mvcc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

// savedUsers returns a backup of a table of users, and what is in it.
func savedUsers() (*bytes.Buffer, mvcc.Backup) {
	type User struct {
		Name string
		Age  int
	}
	db := mvcc.NewDB(nil)
	defer db.Close()
	mvcc.NewTable[int, User](db, "users", nil).Store(1, User{"ada", 36})
	var b bytes.Buffer
	info, _ := db.Save(context.Background(), &b, codec.Gob, nil)
	return &b, info
}

// loadRenamed loads the users into a table whose type calls the name something else.
func loadRenamed() error {
	type User struct {
		FullName string
		Age      int
	}
	b, _ := savedUsers()
	db := mvcc.NewDB(nil)
	defer db.Close()
	mvcc.NewTable[int, User](db, "users", nil)
	_, err := db.Load(context.Background(), b, codec.Gob, nil)
	return err
}

func ExampleSchemaError() {
	var schema *mvcc.SchemaError
	if errors.As(loadRenamed(), &schema) {
		fmt.Println(schema.Table, schema.Lost)
	}
	// Output: users [the field Name of the value is gone]
}

func ExampleSchemaError_Error() {
	fmt.Println(loadRenamed())
	// Output: mvcc: Load: table "users" is a Map[int, mvcc_test.User], as in the backup: the field Name of the value is gone: see LoadOptions.Migrate and AnyShape
}

func ExampleShape() {
	_, info := savedUsers()
	fmt.Println(info.Tables[0].KeyShape, info.Tables[0].ValueShape)
	// Output: int struct{Name string; Age int}
}

func ExampleShape_String() {
	_, info := savedUsers()
	fmt.Println(info.Tables[0].ValueShape.String())
	// Output: struct{Name string; Age int}
}

func ExampleShape_IsZero() {
	_, info := savedUsers()
	fmt.Println(info.Tables[0].ValueShape.IsZero(), mvcc.Shape{}.IsZero())
	// Output: false true
}

func ExampleShape_MarshalJSON() {
	_, info := savedUsers()
	text, _ := info.Tables[0].ValueShape.MarshalJSON()
	fmt.Println(string(text))
	// Output: [{"k":"struct","f":["Name","Age"],"t":[1,2]},{"k":"string"},{"k":"int"}]
}

func ExampleShape_UnmarshalJSON() {
	var s mvcc.Shape
	err := json.Unmarshal([]byte(`[{"k":"[]","t":[1]},{"k":"string"}]`), &s)
	fmt.Println(s, err)
	// Output: []string <nil>
}

func ExampleBackup_Missing() {
	b, _ := savedUsers()
	db := mvcc.NewDB(nil)
	defer db.Close()
	loaded, err := db.Load(context.Background(), b, codec.Gob, &mvcc.LoadOptions{More: true})
	fmt.Println(err) // differences may follow, and close the table
	fmt.Println(loaded.Missing())
	// Output:
	// <nil>
	// mvcc: Load: there is no table "users": make it with mvcc.NewTable[int, mvcc_test.User]
}

func ExampleDB_SkipTo() {
	db := mvcc.NewDB(nil)
	defer db.Close()
	db.SkipTo(1000) // the newest epoch of the last life
	fmt.Println(db.Epoch())
	// Output: 1000
}
