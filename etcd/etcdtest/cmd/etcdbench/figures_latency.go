package main

import (
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/mvccmap/mvccmap/mvcc"
)

// transfer measures one client.
func (f *figures) transfer(r *replica[uint64]) error {
	var own, stm latencies
	if err := f.inTurns(
		own.measure(func() error { return transfer(r, "from", "to", 1) }),
		stm.measure(func() error {
			return atomically(f.ctx, f.at.client, func(tx concurrency.STM) error {
				x, _ := strconv.Atoi(tx.Get(f.key("from")))
				y, _ := strconv.Atoi(tx.Get(f.key("to")))
				tx.Put(f.key("from"), strconv.Itoa(x-1))
				tx.Put(f.key("to"), strconv.Itoa(y+1))
				return nil
			})
		})); err != nil {
		return err
	}
	f.add(row{name: "transfer, p50", is: own.at(50), beside: "STM", besideIs: stm.at(50), write: duration,
		most: 0.5})
	return nil
}

// update measures one client.
func (f *figures) update(r *replica[uint64]) error {
	key, rev := f.key("update"), int64(0)
	var own, raw latencies
	if err := f.inTurns(
		own.measure(func() error {
			return r.db.Update(f.ctx, func(tx mvcc.DBTx) error {
				v, _ := r.table.In(tx).Get("update")
				r.table.In(tx).Set("update", v+1)
				return nil
			})
		}),
		raw.measure(func() error { return f.again(key, &rev) })); err != nil {
		return err
	}
	for percent, most := range map[int]float64{50: 1.5, 99: 2} {
		f.add(row{name: fmt.Sprintf("Update, p%d", percent), is: own.at(percent), beside: "Txn",
			besideIs: raw.at(percent), write: duration, most: most})
	}
	return nil
}

// perCall measures what one of many calls takes.
type perCall struct {
	took  time.Duration
	calls int
}

func (p *perCall) measure(do func(i int)) func(d time.Duration) error {
	return func(d time.Duration) error {
		began := time.Now()
		for until := began.Add(d); time.Now().Before(until); {
			for i := range 100 {
				do(p.calls + i)
			}
			p.calls += 100
		}
		p.took += time.Since(began)
		return nil
	}
}

func (p *perCall) each() float64 { return float64(p.took) / float64(p.calls) }

// reads measures one goroutine.
func (f *figures) reads() error {
	const records = 10_000
	r, err := openReplica[uint64](f.at, true, 0)
	if err != nil {
		return err
	}
	defer stop(r.db)
	db := mvcc.NewDB(nil)
	defer db.Close()
	plain := mvcc.NewOrderedTable[string, uint64](db, "table", nil)
	if err := fill(records, func(low, high int) error { // by transactions as well, which lay them out alike
		return db.Update(f.ctx, nil, func(tx mvcc.DBTx) error {
			for i := low; i < high; i++ {
				plain.In(tx).Set(name(i), 1)
			}
			return nil
		})
	}); err != nil {
		return err
	}
	if err := put(r, records, name, 1); err != nil {
		return err
	}
	keys := make([]string, records)
	for i := range keys {
		keys[i] = name(i)
	}
	if _, err := r.db.Sync(f.ctx); err != nil {
		return err
	}
	scan := func(all func(func(string, uint64) bool)) {
		n := 0
		for range all {
			if n++; n == 100 {
				break
			}
		}
	}
	kinds := []struct {
		name       string
		own, plain func(i int)
	}{
		{"Load", func(i int) { r.table.Load(keys[i%records]) }, func(i int) { plain.Load(keys[i%records]) }},
		{"View of one record", func(i int) {
			_ = r.db.View(func(s mvcc.DBSnapshot) error { r.table.At(s).Get(keys[i%records]); return nil })
		}, func(i int) {
			_ = db.View(func(s mvcc.DBSnapshot) error { plain.At(s).Get(keys[i%records]); return nil })
		}},
		{"View of 100 records", func(i int) {
			_ = r.db.View(func(s mvcc.DBSnapshot) error {
				scan(r.table.At(s).Ascend(mvcc.From(keys[i%(records-100)])))
				return nil
			})
		}, func(i int) {
			_ = db.View(func(s mvcc.DBSnapshot) error {
				scan(plain.At(s).Ascend(mvcc.From(keys[i%(records-100)])))
				return nil
			})
		}},
	}
	var load float64
	for _, busy := range []bool{false, true} {
		var end func() (float64, error)
		when, most := "idle", 1.1
		if busy {
			when, most = "busy", 1.3
			if end, err = f.others(1, job{Kind: jobWrite, Rate: 1000}); err != nil {
				return err
			}
		}
		for _, k := range kinds {
			var own, plain perCall
			if err := f.inTurns(own.measure(k.own), plain.measure(k.plain)); err != nil {
				return err
			}
			if load == 0 {
				load = own.each()
			}
			f.add(row{name: k.name + ", " + when, is: own.each(), beside: "plain DB, " + when,
				besideIs: plain.each(), write: duration, most: most})
		}
		if busy {
			n, err := end()
			if err != nil {
				return err
			}
			f.add(row{name: "commits of another process meanwhile", is: n, write: perSecond})
		}
	}
	var gets latencies
	if err := f.inTurns(gets.measure(func() error {
		_, err := f.at.client.Get(f.ctx, f.key("update"))
		return err
	})); err != nil {
		return err
	}
	f.add(row{name: "linearizable Get of etcd, p50", is: gets.at(50), beside: "Load", besideIs: load,
		write: duration, least: 1000})
	return nil
}
