package peers

import (
	"encoding/binary"
	"fmt"

	"github.com/mvccmap/mvccmap/bench"
)

// The records of a shop as bytes, for the peers that store those. A customer begins with its name,
// an order with its customer and number, so that values have the order of the indexes.

var errRecord = fmt.Errorf("peers: a record that is cut off")

// appendWords appends numbers, so that bytes have the order of the numbers.
func appendWords(b []byte, words ...uint64) []byte {
	for _, w := range words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// words takes numbers off the front of b.
func words(b []byte, into ...*uint64) (rest []byte, err error) {
	if len(b) < wordSize*len(into) {
		return nil, errRecord
	}
	for i, w := range into {
		*w = binary.BigEndian.Uint64(b[wordSize*i:])
	}
	return b[wordSize*len(into):], nil
}

func appendCustomer(b []byte, c bench.Customer) []byte {
	return appendWords(append(b, c.Name...), c.ID, c.First, c.Next, c.Open, c.Paid)
}

func customerOf(b []byte) (c bench.Customer, err error) {
	n := len(b) - 5*wordSize
	if n < 0 {
		return c, errRecord
	}
	c.Name = string(b[:n])
	_, err = words(b[n:], &c.ID, &c.First, &c.Next, &c.Open, &c.Paid)
	return c, err
}

func appendItem(b []byte, i bench.Item) []byte {
	return appendWords(b, i.ID, i.Stock, i.Sold, i.Restocked)
}

func itemOf(b []byte) (i bench.Item, err error) {
	_, err = words(b, &i.ID, &i.Stock, &i.Sold, &i.Restocked)
	return i, err
}

func appendOrder(b []byte, o bench.Order) []byte {
	b = appendWords(b, o.Customer, o.Number, o.ID, o.Total)
	for _, l := range o.Lines {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, l.Item), l.Quantity)
	}
	return b
}

func orderOf(b []byte) (o bench.Order, err error) {
	b, err = words(b, &o.Customer, &o.Number, &o.ID, &o.Total)
	o.Lines = make([]bench.Line, len(b)/8)
	for i := range o.Lines {
		o.Lines[i] = bench.Line{Item: binary.BigEndian.Uint32(b[8*i:]),
			Quantity: binary.BigEndian.Uint32(b[8*i+4:])}
	}
	return o, err
}
