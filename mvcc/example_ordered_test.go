package mvcc_test

import (
	"context"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A map of prices by minute, as the examples below use it.
func openPrices() *mvcc.Map[int, string] {
	prices := mvcc.NewOrdered[int, string](nil)
	for minute, price := range map[int]string{540: "9.10", 570: "9.20", 600: "9.00"} {
		prices.Store(minute, price)
	}
	return prices
}

func ExampleNewOrdered() {
	words := mvcc.NewOrdered[string, int](nil)
	defer words.Close()
	for i, word := range []string{"pear", "apple", "plum"} {
		words.Store(word, i)
	}
	for word := range words.Ascend(mvcc.Range[string]{}) { // as of when the loop begins
		fmt.Println(word)
	}
	fmt.Println(words.Max())
	// Output:
	// apple
	// pear
	// plum
	// plum 2 true
}

// The ends of a range are there or not, or open.
func ExampleRange() {
	prices := openPrices()
	defer prices.Close()
	for _, r := range []mvcc.Range[int]{
		{}, mvcc.From(540).Before(600), mvcc.After(540), mvcc.UpTo(570),
	} {
		for minute := range prices.Ascend(r) {
			fmt.Print(minute, ";")
		}
		fmt.Println()
	}
	// Output:
	// 540;570;600;
	// 540;570;
	// 570;600;
	// 540;570;
}

// Deciding by a range conflicts with changes of that range, and with nothing else.
func ExampleTx_Ascend() {
	bookings := mvcc.NewOrdered[int, string](nil) // by hour
	defer bookings.Close()
	book := func(from, to int, who string) error {
		return bookings.Update(context.Background(), nil, func(tx mvcc.Tx[int, string]) error {
			for hour, other := range tx.Ascend(mvcc.From(from).Before(to)) {
				return fmt.Errorf("%s has it at %d", other, hour)
			}
			for hour := from; hour < to; hour++ {
				tx.Set(hour, who)
			}
			return nil
		})
	}
	fmt.Println(book(9, 12, "Ada"), book(11, 13, "Edsger"), book(12, 13, "Edsger"))
	// Output: <nil> Ada has it at 11 <nil>
}

// Nobody sees some of them deleted and others not.
func ExampleMap_DeleteRange() {
	prices := openPrices()
	defer prices.Close()
	fmt.Println(mvcc.CountRange(prices, mvcc.From(541)))
	fmt.Println(prices.DeleteRange(mvcc.Before(600)), prices.Len())
	// Output:
	// 2
	// 2 1
}
