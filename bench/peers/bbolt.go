package peers

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/mvccmap/mvccmap/bench"
)

func bboltPeer() bench.EngineSpec {
	return bench.EngineSpec{
		Name: "bbolt",
		Doc: "A B+tree in a file on disk, mapped into memory, with one writer at a time; the " +
			"file lies in the directory for temporary files and is never synced. " +
			"Isolation: one writer, readers have snapshots. " +
			"It is on disk, and what it maps into memory is not part of the heap",
		New: newBBolt,
	}
}

// bboltMap is how much of the file is mapped from the start, so that no writer
// waits for the readers to end in order to map more of it.
const bboltMap = 256 << 20

var bboltBucket = []byte("map")

type bboltStore struct {
	db  *bbolt.DB
	dir string
}

func newBBolt(setup bench.Setup) (engine bench.Engine, err error) {
	dir, err := os.MkdirTemp("", "peers-bbolt-")
	if err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, "db"), 0o600, &bbolt.Options{
		NoSync:          true,
		NoGrowSync:      true,
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: bboltMap,
		NoStatistics:    true,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &bboltStore{db, dir}
	err = db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucket(bboltBucket)
		if err != nil {
			return err
		}
		engine, err = newStoreEngine(s, setup, (*bboltTx)(bucket)) // which keeps the values until the end
		return err
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return engine, nil
}

// close implements [store]. The file is of no use any more, so it does
// not matter if it cannot be closed well.
func (s *bboltStore) close() {
	_ = s.db.Close()
	_ = os.RemoveAll(s.dir)
}

// run implements [store]. Its transactions cannot conflict.
func (s *bboltStore) run(readOnly bool, _ *bench.Attempts, do func(tx storeTx) error) error {
	in := func(tx *bbolt.Tx) error { return do((*bboltTx)(tx.Bucket(bboltBucket))) }
	if readOnly {
		return s.db.View(in)
	}
	return s.db.Update(in)
}

// pin implements [store]. To end a reader cannot fail.
func (s *bboltStore) pin() (storeTx, func(), error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, nil, err
	}
	return (*bboltTx)(tx.Bucket(bboltBucket)), func() { _ = tx.Rollback() }, nil
}

type bboltTx bbolt.Bucket

func (t *bboltTx) get(key []byte, found func(value []byte) error) error {
	if value := (*bbolt.Bucket)(t).Get(key); value != nil {
		return found(value)
	}
	return nil
}

func (t *bboltTx) set(key, value []byte) error { return (*bbolt.Bucket)(t).Put(key, value) }
func (t *bboltTx) remove(key []byte) error     { return (*bbolt.Bucket)(t).Delete(key) }

func (t *bboltTx) scan(
	prefix, low []byte, found func(key, value []byte) (bool, error),
) error {
	c := (*bbolt.Bucket)(t).Cursor()
	for key, value := c.Seek(low); bytes.HasPrefix(key, prefix); key, value = c.Next() {
		if more, err := found(key, value); !more || err != nil {
			return err
		}
	}
	return nil
}
