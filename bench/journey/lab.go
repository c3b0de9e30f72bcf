package journey

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
)

// Config chooses the parts of a [Map].
type Config struct {
	Tracker TrackerKind
	Chain   ChainKind
	Cleaning
	// Reuse keeps the states of transactions that have ended, for those that begin.
	Reuse bool
	// OSThreads gives each goroutine in the background an OS thread to itself.
	OSThreads bool
	// LeaveAborted leaves a transaction that does not commit in the tracker. It takes more
	// than one goroutine to show this bug.
	LeaveAborted bool
	// Yield lets others run before a transaction of the engine commits, so that many fail to.
	Yield bool
}

// A Map is an MVCC map made of the parts of its [Config].
type Map struct {
	config  Config
	cells   *xsync.Map[string, *cell]
	ids     atomic.Uint64 // of cells
	clock   Clock
	tracker Tracker
	cleaner *cleaner
	idle    epoch.Pool[Tx]
}

// New returns an empty map.
func New(c Config) *Map {
	m := &Map{config: c, cells: xsync.NewMap[string, *cell]()}
	m.tracker, m.clock = newTracker(c.Tracker, m.start)
	m.cleaner = startCleaner(c.Cleaning, m.tracker, m.clock, m.start)
	return m
}

// start runs f in the background.
func (m *Map) start(f func()) {
	go func() {
		if m.config.OSThreads {
			runtime.LockOSThread() // the thread ends with the goroutine
		}
		f()
	}()
}

// Close ends the goroutines of the map. It must not be used afterwards.
func (m *Map) Close() {
	m.cleaner.close()
	m.tracker.Close()
}

// cell returns the place of a key.
func (m *Map) cell(key string) *cell {
	if c, ok := m.cells.Load(key); ok {
		return c
	}
	c, _ := m.cells.LoadOrCompute(key, func() (*cell, bool) {
		return &cell{id: m.ids.Add(1), chain: chains[m.config.Chain](), ends: none}, false
	})
	return c
}

// Versions returns how many versions there are.
func (m *Map) Versions() (n int) {
	m.cells.Range(func(_ string, c *cell) bool {
		n += c.chain.depth()
		return true
	})
	return n
}

// ErrConflict is returned by Commit if the transaction has written a key that has a version
// which it could not see.
var ErrConflict = errors.New("journey: another transaction was first to commit")

// A Tx is a transaction. One goroutine uses it, until Commit or End.
type Tx struct {
	m      *Map
	handle Handle
	writes []write
}

type write struct {
	cell  *cell
	value uint64
}

// Begin begins a transaction that reads the commits so far.
func (m *Map) Begin() *Tx {
	var tx *Tx
	if m.config.Reuse {
		tx = m.idle.Get()
	}
	if tx == nil {
		tx = &Tx{m: m}
	}
	tx.handle = m.tracker.Begin(m.clock)
	return tx
}

// Get reads a key.
func (tx *Tx) Get(key string) (value uint64, ok bool) {
	c := tx.m.cell(key)
	for i := range tx.writes {
		if tx.writes[i].cell == c {
			return tx.writes[i].value, true
		}
	}
	return c.read(tx.handle.Epoch)
}

// Put writes a key, when the transaction commits.
func (tx *Tx) Put(key string, value uint64) {
	c := tx.m.cell(key)
	for i := range tx.writes {
		if tx.writes[i].cell == c {
			tx.writes[i].value = value
			return
		}
	}
	tx.writes = append(tx.writes, write{c, value})
}

// End ends a transaction and drops its writes.
func (tx *Tx) End() {
	tx.m.tracker.End(tx.handle)
	tx.giveBack()
}

// giveBack keeps the state for another transaction.
func (tx *Tx) giveBack() {
	if tx.m.config.Reuse {
		clear(tx.writes)
		tx.writes = tx.writes[:0]
		tx.m.idle.Put(tx)
	}
}

// Commit installs the writes of the transaction, or returns ErrConflict, and ends it.
func (tx *Tx) Commit() error {
	m := tx.m
	if !tx.install() {
		if !m.config.LeaveAborted {
			tx.End()
		}
		return ErrConflict
	}
	m.tracker.End(tx.handle) // must precede: or it would keep the version that it has just replaced
	for i := range tx.writes {
		m.cleaner.written(tx.writes[i].cell)
	}
	tx.giveBack()
	return nil
}

// install installs the writes, if the transaction sees the newest version of each key that it
// has written. A reader at the epoch that install draws, or above, waits for the latches.
func (tx *Tx) install() bool {
	if len(tx.writes) > 1 {
		slices.SortFunc(tx.writes, func(a, b write) int {
			return cmp.Compare(a.cell.id, b.cell.id)
		})
	}
	for i := range tx.writes {
		c := tx.writes[i].cell
		c.lock()
		if v := c.chain.newest(); v != nil && v.epoch > tx.handle.Epoch {
			tx.unlock(i + 1)
			return false
		}
	}
	e := tx.m.clock.Next()
	for _, w := range tx.writes {
		w.cell.chain.push(&version{epoch: e, value: w.value})
	}
	tx.unlock(len(tx.writes))
	return true
}

// unlock gives back the first n latches.
func (tx *Tx) unlock(n int) {
	for i := range n {
		tx.writes[i].cell.unlock()
	}
}
