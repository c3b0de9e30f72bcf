package mvcc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

// numbers returns a database with a table of some numbers.
func numbers(all ...int) (*mvcc.DB, *mvcc.Map[int, string]) {
	db := mvcc.NewDB(nil)
	table := mvcc.NewTable[int, string](db, "numbers", nil)
	for _, n := range all {
		table.Store(n, fmt.Sprintf("%b", n))
	}
	return db, table
}

func ExampleDB_Save() {
	db, _ := numbers(1, 2, 3)
	defer db.Close()
	var file bytes.Buffer
	saved, err := db.Save(context.Background(), &file, codec.Gob, nil)
	fmt.Println(saved.Records, saved.Tables[0].Name, err)

	other, table := numbers(7)
	defer other.Close()
	_, err = other.Load(context.Background(), &file, codec.Gob, nil)
	fmt.Println(table.Len(), err)
	// Output:
	// 3 numbers <nil>
	// 3 <nil>
}

// A backup with codec.JSON is lines of JSON: a program that knows nothing of this library reads the
// records of a table, which come after the line with its name. With jq it is
//
//	jq -nc 'foreach inputs as $x (""; $x.table // .;
//	  if . == "numbers" and ($x | has("k")) then $x else empty end)' backup
func ExampleDB_Save_lines() {
	db, _ := numbers(5)
	defer db.Close()
	mvcc.NewTable[string, bool](db, "flags", nil).Store("dark", true)
	var file bytes.Buffer
	_, _ = db.Save(context.Background(), &file, codec.JSON, nil)

	table := ""
	for lines := bufio.NewScanner(&file); lines.Scan(); {
		var line struct {
			Table string // begins a table
			K     *int   // of a record
			V     string
		}
		_ = json.Unmarshal(lines.Bytes(), &line)
		if line.Table != "" {
			table = line.Table
		}
		if table == "numbers" && line.K != nil {
			fmt.Println(*line.K, line.V, lines.Text())
		}
	}
	// Output:
	// 5 101 {"k":5,"v":"101"}
}

// Nothing of a damaged backup is loaded.
func ExampleDB_Load() {
	db, table := numbers(1, 2, 3)
	defer db.Close()
	var file bytes.Buffer
	_, _ = db.Save(context.Background(), &file, codec.JSON, nil)
	table.Store(4, "100")

	_, err := db.Load(context.Background(), bytes.NewReader(file.Bytes()[:20]), codec.JSON, nil)
	fmt.Println(err)
	fmt.Println(table.Len())
	// Output:
	// mvcc: the backup is damaged at offset 0: it ends in the middle of the frame
	// 4
}

// The error says where.
func ExampleDamageError() {
	db, _ := numbers(1)
	defer db.Close()
	_, err := db.Load(context.Background(), bytes.NewReader([]byte("something else")), codec.Gob, nil)
	var damage *mvcc.DamageError
	fmt.Println(errors.As(err, &damage))
	fmt.Println(damage.Offset, damage.Reason)
	// Output:
	// true
	// 0 it does not begin as it should
}

func ExampleDamageError_Error() {
	fmt.Println(&mvcc.DamageError{Offset: 65, Reason: "the checksum of the frame does not match"})
	// Output: mvcc: the backup is damaged at offset 65: the checksum of the frame does not match
}

func ExampleDB_SaveFile() {
	db, table := numbers(1, 2, 3)
	defer db.Close()
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "numbers.backup")

	_, err := db.SaveFile(context.Background(), path, codec.Gob, nil)
	fmt.Println(err)
	table.Clear()
	_, err = db.LoadFile(context.Background(), path, codec.Gob, nil)
	fmt.Println(table.Len(), err)
	// Output:
	// <nil>
	// 3 <nil>
}

// The version is one's own: that of what is in the tables.
func ExampleDB_LoadFile() {
	db, _ := numbers(1, 2, 3)
	defer db.Close()
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "numbers.backup")

	_, _ = db.SaveFile(context.Background(), path, codec.Gob, &mvcc.SaveOptions{Version: 1})
	_, err := db.LoadFile(context.Background(), path, codec.Gob, &mvcc.LoadOptions{Version: 2})
	fmt.Println(err)
	// Output: mvcc: Load: the version of the backup is 1, and LoadOptions.Version is 2
}

// What has changed since the last backup, and how both are loaded.
func ExampleSaveOptions() {
	ctx := context.Background()
	db, table := numbers(1, 2, 3)
	defer db.Close()
	var full, changes bytes.Buffer
	s := db.Snapshot()
	_, _ = db.Save(ctx, &full, codec.Gob, &mvcc.SaveOptions{Of: s})
	table.Delete(2)
	saved, _ := db.Save(ctx, &changes, codec.Gob, &mvcc.SaveOptions{Since: s})
	s.Close()
	fmt.Println(saved.Records)

	other, loaded := numbers()
	defer other.Close()
	opts := &mvcc.LoadOptions{}
	opts.Then = append(opts.Then, &changes)
	_, err := other.Load(ctx, &full, codec.Gob, opts)
	fmt.Println(loaded.Len(), err)
	// Output:
	// 1
	// 2 <nil>
}

// What is committed is sent to somewhere else, a few commits at a time: here until it has got to
// where the first database is.
func ExampleDB_SaveCommits() {
	ctx := context.Background()
	db, table := numbers(1, 2, 3)
	defer db.Close()
	s := db.Snapshot()
	watch := db.Watch(ctx, &mvcc.DBWatchOptions{Since: s, Progress: true})
	after := mvcc.Backup{Epoch: s.Epoch()}
	s.Close()
	table.Store(4, "100")
	table.Delete(1)
	end := db.Epoch()
	db.RequestProgress()

	var sent bytes.Buffer
	var some []mvcc.DBCommit
	for c, err := range watch {
		if err != nil {
			fmt.Println(err)
			break
		}
		if some = append(some, c); !c.Progress {
			continue
		}
		if after, err = db.SaveCommits(ctx, &sent, codec.JSON, after, some, nil); err != nil ||
			c.Epoch >= end {
			break
		}
		some = nil
	}
	fmt.Println(after.Epoch >= end, sent.Len() > 0)
	// Output: true true
}

// A copy of a database follows it: a backup first, and then what was committed since.
func ExampleDB_LoadCommits() {
	ctx := context.Background()
	db, table := numbers(1, 2, 3)
	defer db.Close()
	copied, follower := numbers()
	defer copied.Close()
	s := db.Snapshot()
	watch := db.Watch(ctx, &mvcc.DBWatchOptions{Since: s})
	var stream bytes.Buffer
	saved, _ := db.Save(ctx, &stream, codec.Gob, &mvcc.SaveOptions{Of: s})
	s.Close()
	table.Store(4, "100")
	for c, err := range watch {
		if err != nil {
			log.Fatal(err)
		}
		_, _ = db.SaveCommits(ctx, &stream, codec.Gob, saved, []mvcc.DBCommit{c}, nil)
		break
	}

	loaded, _ := copied.Load(ctx, &stream, codec.Gob, nil)
	fmt.Println(follower.Len())
	_, err := copied.LoadCommits(ctx, &stream, codec.Gob, loaded, nil)
	fmt.Println(follower.Len(), err)
	// Output:
	// 3
	// 4 <nil>
}

func ExampleLoadOptions() {
	db, _ := numbers(1, 2, 3)
	defer db.Close()
	var file bytes.Buffer
	_, _ = db.Save(context.Background(), &file, codec.Gob, nil)

	other := mvcc.NewDB(nil)
	defer other.Close()
	mvcc.NewTable[int, *string](other, "numbers", nil)
	_, err := other.Load(context.Background(), bytes.NewReader(file.Bytes()), codec.Gob, nil)
	fmt.Println(err)
	_, err = other.Load(context.Background(), &file, codec.Gob, &mvcc.LoadOptions{AnyShape: true})
	fmt.Println(err)
	// Output:
	// mvcc: Load: table "numbers" is a Map[int, *string], and in the backup it is a Map[int, string]: the value was string, and is *string: see LoadOptions.Migrate and AnyShape
	// <nil>
}

// A codec of one's own: that of package encoding/gob, by another name.
func ExampleCodec() {
	own := codec.Gob
	own.Name = "gob of ours"
	db, _ := numbers(1)
	defer db.Close()
	var file bytes.Buffer
	_, _ = db.Save(context.Background(), &file, own, nil)
	_, err := db.Load(context.Background(), &file, codec.Gob, nil)
	fmt.Println(err)
	// Output: mvcc: Load: the codec of the backup is "gob of ours", and that given is "gob"
}

// What a backup has is said by the call that saves it, and by the one that loads it.
func ExampleBackup() {
	db, _ := numbers(1, 2, 3)
	defer db.Close()
	saved, _ := db.Save(context.Background(), io.Discard, codec.JSON, &mvcc.SaveOptions{Version: 5})
	fmt.Println(saved.Codec, saved.Version, saved.Records, saved.Bytes > 0,
		saved.Epoch == db.Epoch(), saved.Since)
	// Output: json 5 3 true true 0
}

func ExampleBackupTable() {
	db, _ := numbers(1, 2, 3)
	defer db.Close()
	saved, _ := db.Save(context.Background(), io.Discard, codec.Gob, nil)
	for _, table := range saved.Tables {
		fmt.Println(table.Name, table.Key, table.Value, table.Records)
	}
	// Output: numbers int string 3
}

// A program can look at a backup before it makes the tables, or without knowing their types.
func ExampleReadHeader() {
	db, _ := numbers(1, 2, 3)
	defer db.Close()
	var file bytes.Buffer
	_, _ = db.Save(context.Background(), &file, codec.Gob, &mvcc.SaveOptions{Version: 2})

	b, err := mvcc.ReadHeader(&file)
	fmt.Println(b.Codec, b.Version, err)
	for _, table := range b.Tables {
		fmt.Println(table.Name, table.KeyShape, table.ValueShape)
	}
	// Output:
	// gob 2 <nil>
	// numbers int string
}
