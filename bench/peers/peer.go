package peers

import "github.com/mvccmap/mvccmap/bench"

// Peers returns the peers, in the order in which they are listed.
func Peers() []bench.EngineSpec {
	return []bench.EngineSpec{badgerPeer(), memdbPeer(), buntdbPeer(), bboltPeer(), btreePeer()}
}

// Engines returns the engines of package bench and, after them, the peers.
func Engines() []bench.EngineSpec { return append(bench.Engines(), Peers()...) }
