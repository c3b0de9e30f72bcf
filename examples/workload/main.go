// Workload is a command with all that mvccbench can, for a workload of one's own: seats of flights
// are booked, and bookings canceled.
//
//	go run ./examples/workload --threads 1,2 --engine mvcc,rwmutex
//	go run ./examples/workload run --rate 50k --threshold 'response-p99<5ms'
//	go build -o bin/ ./examples/workload && bin/workload ab HEAD .
package main

import (
	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/bench/command"
)

const seats = 150 // of each flight

var booking = bench.Workload{
	Name:   "booking",
	Doc:    "Book a free seat of one of --keys flights, or cancel. No seat is booked twice.",
	Params: bench.Params{Keys: 1000, ReadPct: bench.Unset, Theta: 0.9},
	Build: func(m *bench.Model) {
		flights := m.Table(bench.Table{Name: "free", Records: m.Keys,
			Number: func(int64) int64 { return seats }})
		bookings := m.Table(bench.Table{Name: "booked", Records: m.Keys})
		flight := m.Zipf(m.Keys, m.Theta)
		move := func(tx *bench.Tx, n int64) error {
			key := tx.Draw(flight)
			free, booked := tx.Get(flights, key), tx.Get(bookings, key)
			if free.Number >= n && booked.Number >= -n {
				tx.Set(free, free.Number-n)
				tx.Set(booked, booked.Number+n)
			}
			return nil
		}
		m.Update("book", 9, func(tx *bench.Tx) error { return move(tx, 1) })
		m.Update("cancel", 1, func(tx *bench.Tx) error { return move(tx, -1) })
		m.Audit(func(tx *bench.Tx) error { // beside them, and at the end
			free, _ := tx.Sum(flights)
			booked, _ := tx.Sum(bookings)
			if free+booked != int64(m.Keys)*seats {
				return bench.Violated("%d seats are free and %d booked", free, booked)
			}
			return nil
		})
	},
}

func main() { command.Main(booking) }
