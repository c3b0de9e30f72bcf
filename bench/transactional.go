package bench

import (
	"context"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Transactional is an engine whose sessions run functions in transactions of type T.
type Transactional[T any] interface {
	// Session returns what goroutine number worker works with; it is called before
	// the goroutines start, and -1 asks for one for the runner itself.
	Session(worker int) TxSession[T]
	// Close ends what the engine has running. No session is used afterwards.
	Close()
}

// A TxSession is one goroutine's access to a [Transactional].
type TxSession[T any] interface {
	// Do runs fn in one transaction, which is retried until it has committed, so that fn may
	// run several times. readOnly says that it does not write. Errors are as those of a
	// [Session].
	Do(readOnly bool, fn func(tx T) error) error
	// Aborts is that of a [Session].
	Aborts() uint64
}

// txRig is what the rigs of such engines have in common.
type txRig[T any] struct {
	*Trial
	engine Transactional[T]
	runner TxSession[T]
}

// open takes an engine that was made, unless err says why it was not.
func (r *txRig[T]) open(engine Transactional[T], err error) error {
	if err == nil {
		r.engine, r.runner = engine, engine.Session(-1)
	}
	return err
}

func (r *txRig[T]) engineItself() any { return r.engine }

func (r *txRig[T]) close() {
	if r.engine != nil {
		r.engine.Close()
	}
}

// mvccDB is a database, for engines of tables.
type mvccDB struct {
	db      *mvcc.DB
	options *mvcc.TxOptions // of every Update; nil: the defaults
	Limits
}

func openMVCCDB(options *mvcc.Options, limits Limits) mvccDB {
	d := mvccDB{db: mvcc.NewDB(options), Limits: limits}
	if limits.Attempts > 0 {
		d.options = &mvcc.TxOptions{MaxAttempts: limits.Attempts}
	}
	return d
}

func (d *mvccDB) Close() { d.db.Close() }

// Versions implements [Versioner].
func (d *mvccDB) Versions() int { return d.db.Stats().Versions }

func (d *mvccDB) sources() map[string]func() mvcc.Stats { return d.db.Sources("") }

// mvccTxSession is a [TxSession] of a database. What it calls is made once.
type mvccTxSession[T any] struct {
	Attempts
	*mvccDB
	fn      func(T) error
	attempt func(mvcc.DBTx) error
	look    func(mvcc.DBSnapshot) error
}

// newMVCCTxSession makes a session whose transactions are what begin, or view, makes of those of d.
func newMVCCTxSession[T any](
	d *mvccDB, begin func(mvcc.DBTx) T, view func(mvcc.DBSnapshot) T,
) TxSession[T] {
	s := &mvccTxSession[T]{mvccDB: d}
	s.attempt = func(tx mvcc.DBTx) error {
		s.Tries++
		return s.fn(begin(tx))
	}
	s.look = func(sn mvcc.DBSnapshot) error { return s.fn(view(sn)) }
	return s
}

func (s *mvccTxSession[T]) Do(readOnly bool, fn func(tx T) error) error {
	s.fn = fn
	if readOnly {
		return s.db.View(s.look)
	}
	for {
		err := s.db.Update(context.Background(), s.options, s.attempt)
		if over, err := s.ended(err, s.options, s.Stopped); over {
			return err
		}
	}
}
