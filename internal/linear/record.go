package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// A Map is what is recorded: the one-key operations of a map, and transactions.
// [Of] makes one.
type Map interface {
	Load(key int) (value int64, ok bool)
	Store(key int, value int64)
	LoadOrStore(key int, value int64) (actual int64, loaded bool)
	Swap(key int, value int64) (previous int64, loaded bool)
	LoadAndDelete(key int) (value int64, loaded bool)
	Delete(key int)
	CompareAndSwap(key int, old, value int64) bool

	// View gets key in a read-only transaction.
	View(key int) (value int64, ok bool)
	// Update gets key and sets it in a transaction, which also sets other to
	// the value, without looking, unless other is key. done is false if it
	// was given up.
	Update(key, other int, value int64) (previous int64, loaded, done bool)
}

// Config says what Record does.
type Config struct {
	Workers int    // goroutines
	Keys    int    // fewer keys, more contention
	Ops     int    // calls by each goroutine
	Seed    uint64 // of all choices; what runs when is not chosen
	Fresh   bool   // the map is new
}

// maxWorkers is how many goroutines can have values of their own: 27003 is the
// 27th of number 3.
const maxWorkers = 1000

// Record has goroutines use m at the same time and returns what they did. When
// ctx ends it returns what was done until then. An operation that panics is an
// error.
func Record(ctx context.Context, m Map, c Config) (*History, error) {
	if c.Workers < 1 || c.Workers > maxWorkers || c.Keys < 1 || c.Ops < 0 {
		return nil, errors.New("linear: a recording needs workers and keys")
	}
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	r := rand.New(rand.NewPCG(c.Seed, 0))
	mix := randomMix(r)
	start := make(chan struct{})
	epoch := time.Now()
	workers := make([]*recorder, c.Workers)
	var wg sync.WaitGroup
	for i := range workers {
		w := &recorder{
			m: m, id: i, keys: c.Keys, mix: mix, epoch: epoch,
			random: rand.New(rand.NewPCG(c.Seed, uint64(i)+1)),
			seen:   make([]int64, c.Keys),
			ops:    make([]Op, 0, 2*c.Ops),
		}
		workers[i] = w
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					w.err = fmt.Errorf("linear: panic: %v\n%s", p, debug.Stack())
					stop.Store(true)
				}
			}()
			<-start
			for n := 0; n < c.Ops && !stop.Load(); n++ {
				w.do()
			}
		})
	}
	close(start)
	wg.Wait()
	h := &History{Fresh: c.Fresh}
	for _, w := range workers {
		if w.err != nil {
			return nil, w.err
		}
		h.Ops = append(h.Ops, w.ops...)
	}
	return h, nil
}

// A mix has the share of each kind, summed up, of 256.
type mix [kinds]int

// randomMix has every kind now and then, and some kinds often.
func randomMix(r *rand.Rand) (m mix) {
	var weights [kinds]int
	total := 0
	for k := range weights {
		weights[k] = 1 + r.IntN(4)*r.IntN(4)
		total += weights[k]
	}
	weights[Load] += total / 3 // reads show what is wrong
	total += total / 3
	sum := 0
	for k := range weights {
		sum += weights[k]
		m[k] = sum * 256 / total
	}
	return m
}

func (m mix) draw(r *rand.Rand) Kind {
	n := r.IntN(256)
	for k := range m {
		if n < m[k] {
			return Kind(k)
		}
	}
	return Load
}

// A recorder is one goroutine's part. Nobody else touches it meanwhile.
type recorder struct {
	m      Map
	id     int
	keys   int
	mix    mix
	epoch  time.Time
	random *rand.Rand
	seq    int64
	seen   []int64 // by key: the value it saw last, for CompareAndSwap
	ops    []Op
	err    error
	_      [64]byte
}

func (w *recorder) now() int64 { return int64(time.Since(w.epoch)) }

// do does one operation and notes it.
func (w *recorder) do() {
	key := w.random.IntN(w.keys)
	w.seq++
	o := Op{Worker: w.id, Key: key, Kind: w.mix.draw(w.random), Arg: w.seq*maxWorkers + int64(w.id)}
	if w.random.IntN(64) == 0 {
		runtime.Gosched() // so that others come in between also on one CPU
	}
	other := key
	done := true
	if o.Kind == Blind {
		o.Kind, other = Update, w.random.IntN(w.keys)
	}
	switch o.Kind {
	case CompareAndSwap:
		o.Old = w.seen[key]
	case Load, View, LoadAndDelete, Delete:
		o.Arg = 0
	}
	o.Call = w.now()
	switch o.Kind {
	case Load:
		o.Got, o.OK = w.m.Load(key)
	case Store:
		w.m.Store(key, o.Arg)
	case LoadOrStore:
		o.Got, o.OK = w.m.LoadOrStore(key, o.Arg)
	case Swap:
		o.Got, o.OK = w.m.Swap(key, o.Arg)
	case LoadAndDelete:
		o.Got, o.OK = w.m.LoadAndDelete(key)
	case Delete:
		w.m.Delete(key)
	case CompareAndSwap:
		o.OK = w.m.CompareAndSwap(key, o.Old, o.Arg)
	case View:
		o.Got, o.OK = w.m.View(key)
	case Update:
		o.Got, o.OK, done = w.m.Update(key, other, o.Arg)
	}
	o.Return = w.now()
	if !done {
		return // it has not happened
	}
	if o.OK && o.Kind != CompareAndSwap {
		w.seen[key] = o.Got
	}
	w.ops = append(w.ops, o)
	if other != key {
		w.ops = append(w.ops, Op{Worker: w.id, Key: other, Kind: Blind, Arg: o.Arg, Call: o.Call, Return: o.Return})
	}
}
