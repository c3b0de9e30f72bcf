package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// savedAges returns a backup of a table in which ages are text.
func savedAges(ages ...string) *bytes.Buffer {
	type UserV1 struct{ Name, Age string }
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewTable[int, UserV1](db, "users", nil)
	for i, age := range ages {
		users.Store(i, UserV1{fmt.Sprint("user", i), age})
	}
	var b bytes.Buffer
	_, _ = durable.Save(context.Background(), db, &b, durable.Gob, nil)
	return &b
}

// A field has another type than in the backup. One with the new type is loaded as it is.
func ExampleMigrate() {
	type UserV1 struct{ Name, Age string }
	type User struct {
		Name string
		Age  int
	}
	ctx := context.Background()
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewOrderedTable[int, User](db, "users", nil)
	opts := &durable.LoadOptions{Migrate: []durable.Migration{
		durable.Migrate("users", func(_ int, old UserV1) (User, error) {
			if old.Age == "" {
				return User{}, durable.ErrDrop
			}
			age, err := strconv.Atoi(old.Age)
			return User{old.Name, age}, err
		}),
	}}
	_, err := durable.Load(ctx, db, savedAges("36", "", "41"), durable.Gob, opts)
	fmt.Println(err)

	var now bytes.Buffer
	_, _ = durable.Save(ctx, db, &now, durable.Gob, nil)
	_, err = durable.Load(ctx, db, &now, durable.Gob, opts)
	for id, user := range users.All() {
		fmt.Println(id, user.Name, user.Age)
	}
	fmt.Println(err)
	// Output:
	// <nil>
	// 0 user0 36
	// 2 user2 41
	// <nil>
}

// Another key, and another table: users by number become ages by name.
func ExampleMigrateTo() {
	type UserV1 struct{ Name, Age string }
	db := mvcc.NewDB(nil)
	defer db.Close()
	ages := mvcc.NewOrderedTable[string, string](db, "ages", nil)
	_, err := durable.Load(context.Background(), db, savedAges("36", "41"), durable.Gob, &durable.LoadOptions{
		Migrate: []durable.Migration{
			durable.MigrateTo("users", "ages", func(_ int, old UserV1) (string, string, error) {
				return old.Name, old.Age, nil
			})}})
	for name, age := range ages.All() {
		fmt.Println(name, age)
	}
	fmt.Println(err)
	// Output:
	// user0 36
	// user1 41
	// <nil>
}

// A field has another name than when the backup was written.
func ExampleRenameFields() {
	type User struct{ FullName, Age string } // FullName was Name
	db := mvcc.NewDB(nil)
	defer db.Close()
	users := mvcc.NewOrderedTable[int, User](db, "users", nil)
	opts := &durable.LoadOptions{Migrate: []durable.Migration{
		durable.RenameFields("users", map[string]string{"Name": "FullName"}),
	}}
	_, err := durable.Load(context.Background(), db, savedAges("36", "41"), durable.Gob, opts)
	user, _ := users.Load(1)
	fmt.Println(user.FullName, user.Age, err)
	// Output: user1 41 <nil>
}

// A field was renamed, and nobody has said so: nothing is loaded.
func ExampleSchemaError() {
	type User struct{ FullName, Age string } // FullName was Name
	db := mvcc.NewDB(nil)
	defer db.Close()
	mvcc.NewTable[int, User](db, "users", nil)
	_, err := durable.Load(context.Background(), db, savedAges("36"), durable.Gob, nil)
	var schema *durable.SchemaError
	if errors.As(err, &schema) {
		fmt.Println(schema.Table, schema.Lost)
	}
	// Output: users [the field Name of the value is gone]
}
