package peers

import (
	"cmp"

	"github.com/mvccmap/mvccmap/bench"
)

// Peers returns the peers, in the order in which they are listed.
func Peers() []bench.EngineSpec {
	return []bench.EngineSpec{
		badgerPeer(), memdbPeer(), statedbPeer(), buntdbPeer(), bboltPeer(), btreePeer(),
	}
}

// Engines returns the engines of package bench and, after them, the peers.
func Engines() []bench.EngineSpec { return append(bench.Engines(), Peers()...) }

// A failure is the first error in a transaction.
type failure struct{ err error }

func (f *failure) failed(err error) { f.err = cmp.Or(f.err, err) }

// filled puts the records of setup into e, in one transaction.
func filled(e bench.Engine, setup bench.Setup) (bench.Engine, error) {
	return e, e.Session(-1).Do(false, func(tx bench.Access) error {
		for i, t := range setup.Tables {
			for k, key := range t.Keys {
				tx.Put(i, key, t.Records[k])
			}
		}
		return nil
	})
}
