package peers

import (
	"slices"

	"github.com/mvccmap/mvccmap/bench"
)

// A Peer is an engine with what must be known to compare it.
type Peer struct {
	bench.EngineSpec

	// Module is the path of the module it comes from; empty for what comes
	// with Go or with this repository.
	Module string

	// Isolation says in a few words what its transactions guarantee, as the
	// adapter uses it; Caveat, if it is not empty, what else must be known of
	// that, as one sentence without the full stop.
	Isolation string
	Caveat    string
}

// Peers returns the peers that come from modules of their own, in the order in
// which they are listed.
func Peers() []Peer {
	return []Peer{badgerPeer(), memdbPeer(), buntdbPeer(), bboltPeer(), btreePeer()}
}

// builtin is the isolation of the engines of package bench.
var builtin = map[string]string{
	"mvcc":        "strictly serializable",
	"mvcc-direct": "one key at a time",
	"mutex":       "serial: one lock",
	"rwmutex":     "serial: one lock",
	"sync.Map":    "one key at a time",
	"xsync":       "one key at a time",
}

// All returns the engines of package bench and, after them, the peers.
func All() []Peer {
	var list []Peer
	for _, spec := range bench.Engines() {
		p := Peer{EngineSpec: spec, Isolation: builtin[spec.Name]}
		if spec.Name == "xsync" {
			p.Module = "github.com/puzpuzpuz/xsync/v4"
		}
		list = append(list, p)
	}
	return append(list, Peers()...)
}

// Engines returns the specs of all engines, those of package bench first, with
// what they isolate in the Doc of the peers.
func Engines() []bench.EngineSpec {
	list := bench.Engines()
	for _, p := range Peers() {
		spec := p.EngineSpec
		spec.Doc += ". Isolation: " + p.Isolation
		if p.Caveat != "" {
			spec.Doc += ". " + p.Caveat
		}
		list = append(list, spec)
	}
	return list
}

// ByName returns the engine called name, of package bench or a peer.
func ByName(name string) (Peer, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return all[i], true
}
