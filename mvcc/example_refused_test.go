package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

// refusedRecord makes a table with a record that JSON cannot express.
func refusedRecord() (*mvcc.Map[string, float64], *mvcc.CodecError) {
	db := mvcc.NewDB(nil)
	rates := mvcc.NewTable[string, float64](db, "rates", nil)
	rates.Store("up", 1.5)
	rates.Store("down", math.NaN())
	_, err := db.Save(context.Background(), io.Discard, codec.JSON, nil)
	var refused *mvcc.CodecError
	errors.As(err, &refused)
	return rates, refused
}

func ExampleCodecError() {
	db := mvcc.NewDB(nil)
	rates := mvcc.NewTable[string, float64](db, "rates", nil)
	rates.Store("up", 1.5)
	rates.Store("down", math.NaN())
	b, err := db.Save(context.Background(), io.Discard, codec.JSON, &mvcc.SaveOptions{
		Refused: func(e *mvcc.CodecError) { fmt.Println("without", e.Key) },
	})
	fmt.Println(b.Records, err)
	// Output:
	// without down
	// 1 <nil>
}

func ExampleCodecError_Error() {
	_, refused := refusedRecord()
	fmt.Println(strings.ReplaceAll(refused.Error(), "record: ", "record:\n"))
	// Output:
	// mvcc: table "rates", key "down": the codec json cannot save the record:
	// json: unsupported value: NaN
}

func ExampleCodecError_Unwrap() {
	_, refused := refusedRecord()
	fmt.Println(refused.Unwrap())
	// Output: json: unsupported value: NaN
}

func ExampleCodecError_Current() {
	rates, refused := refusedRecord()
	fmt.Println(refused.Current())
	rates.Store("down", 0.5)
	fmt.Println(refused.Current())
	// Output:
	// true
	// false
}

func ExampleDB_Logger() {
	db := mvcc.NewDB(&mvcc.Options{Logger: slog.Default()})
	defer db.Close()
	fmt.Println(db.Logger() == slog.Default())
	// Output: true
}

func ExampleJournalState() {
	db, stock, _ := openShop()
	defer db.Close()
	stock.Store("pear", 1)
	db.SetJournal(func() mvcc.JournalState {
		return mvcc.JournalState{Epoch: db.Epoch(), Refused: 1}
	})
	fmt.Println(db.Stats().JournalLag, db.Stats().JournalRefused)
	// Output: 0 1
}
