package peers

import (
	"errors"
	"strings"

	"github.com/tidwall/buntdb"

	"github.com/mvccmap/mvccmap/bench"
)

func buntdbPeer() bench.EngineSpec {
	return bench.EngineSpec{
		Name: "buntdb",
		Doc: "A B-tree of strings under a lock that is held for a whole transaction, in memory, " +
			"without a file. " +
			"Isolation: serial: one lock",
		NoSnapshots: "a read transaction that stays open stops every writer",
		New:         newBuntDB,
	}
}

type buntdbStore struct{ db *buntdb.DB }

func newBuntDB(setup bench.Setup) (engine bench.Engine, err error) {
	db, err := buntdb.Open(":memory:")
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *buntdb.Tx) error {
		engine, err = newStoreEngine(buntdbStore{db}, setup, buntdbTx{tx})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return engine, nil
}

// close implements [store]. There is no file that could fail to close.
func (s buntdbStore) close() { _ = s.db.Close() }

// run implements [store]. Its transactions cannot conflict.
func (s buntdbStore) run(readOnly bool, _ *bench.Attempts, do func(tx storeTx) error) error {
	in := func(tx *buntdb.Tx) error { return do(buntdbTx{tx}) }
	if readOnly {
		return s.db.View(in)
	}
	return s.db.Update(in)
}

func (buntdbStore) pin() (storeTx, func(), error) { return nil, nil, errors.New("peers: no snapshots") }

// buntdbTx is a transaction. The strings that it is given are new: the database keeps them.
type buntdbTx struct{ *buntdb.Tx }

func (t buntdbTx) get(key []byte, found func(value []byte) error) error {
	value, err := t.Get(string(key))
	if err == nil {
		return found([]byte(value))
	}
	return unlessNotFound(err)
}

func (t buntdbTx) set(key, value []byte) error {
	_, _, err := t.Set(string(key), string(value), nil)
	return err
}

func (t buntdbTx) remove(key []byte) error {
	_, err := t.Delete(string(key))
	return unlessNotFound(err)
}

func (t buntdbTx) scan(
	prefix, low []byte, found func(key, value []byte) (bool, error),
) (err error) {
	return errors.Join(t.AscendGreaterOrEqual("", string(low), func(key, value string) (more bool) {
		if strings.HasPrefix(key, string(prefix)) {
			more, err = found([]byte(key), []byte(value))
		}
		return more && err == nil
	}), err)
}

func unlessNotFound(err error) error {
	if errors.Is(err, buntdb.ErrNotFound) {
		return nil
	}
	return err
}
