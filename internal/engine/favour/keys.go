package favour

import (
	"math/bits"
	"slices"
)

// Keys is a set of keys, known by their hashes: two keys with one hash are one. It is
// made by one goroutine, and not changed once it is shared.
type Keys struct {
	all      bool
	whole    []uint16 // the tags of tables that are in it as a whole
	keyCount int
	few      [fewKeys]uint64 // as long as they fit
	table    []uint64        // open addressing, at most half full; 0 is a free place
	// lanes has a bit for each key's lane: a key whose lane has no bit is not in the set.
	lanes uint64
}

// fewKeys is the number of hashes up to which a set is searched one by one.
const fewKeys = 8

// All returns the set of all keys.
func All() *Keys { return &Keys{all: true, lanes: ^uint64(0)} }

// Keys of different tables of a database may have the same hashes. So each table has a tag, and a
// hash here has the tag in its middle.
const (
	tagShift = 40
	tagMask  = 1<<16 - 1
)

// Tagged returns hash with the tag of a table.
func Tagged(hash uint64, tag uint16) uint64 {
	return hash&^(tagMask<<tagShift) | uint64(tag)<<tagShift
}

// AddTable adds all keys of a table.
func (k *Keys) AddTable(tag uint16) {
	k.whole = append(k.whole, tag)
	k.lanes = ^uint64(0)
}

// NewKeys returns an empty set with room for n keys.
func NewKeys(n int) *Keys {
	k := &Keys{}
	if n > fewKeys {
		k.table = make([]uint64, 1<<bits.Len(uint(2*n-1)))
	}
	return k
}

// laneOf returns the lane of a key, from 0 to 63.
func laneOf(hash uint64) int { return int(max(hash, 1) >> 58) }

// eachLane calls f for each lane in which the set has a key.
func (k *Keys) eachLane(f func(i int) bool) {
	for rest := k.lanes; rest != 0; rest &= rest - 1 {
		if !f(bits.TrailingZeros64(rest)) {
			return
		}
	}
}

// Add adds a key. NewKeys must have made room for it.
func (k *Keys) Add(hash uint64) {
	hash = max(hash, 1)
	if k.all || k.Has(hash) {
		return
	}
	k.lanes |= 1 << laneOf(hash)
	if k.table == nil {
		k.few[k.keyCount] = hash
	} else {
		i := hash & uint64(len(k.table)-1)
		for k.table[i] != 0 {
			i = (i + 1) & uint64(len(k.table)-1)
		}
		k.table[i] = hash
	}
	k.keyCount++
}

// Has reports whether a key with the hash is in the set.
func (k *Keys) Has(hash uint64) bool {
	hash = max(hash, 1)
	switch {
	case k.lanes>>laneOf(hash)&1 == 0:
		return false
	case k.all || k.whole != nil && slices.Contains(k.whole, uint16(hash>>tagShift)):
		return true
	case k.table == nil:
		for _, h := range k.few[:k.keyCount] {
			if h == hash {
				return true
			}
		}
		return false
	}
	for i := hash; ; i++ {
		switch k.table[i&uint64(len(k.table)-1)] {
		case hash:
			return true
		case 0:
			return false
		}
	}
}

// eachHash calls f for each key until f returns false. It must not be called for All.
func (k *Keys) eachHash(f func(hash uint64) bool) {
	list := k.table
	if list == nil {
		list = k.few[:k.keyCount]
	}
	for _, h := range list {
		if h != 0 && !f(h) {
			return
		}
	}
}

// meets reports whether the sets have a key in common. It looks at each key of o, which must not be
// All, nor have whole tables.
func (k *Keys) meets(o *Keys) (common bool) {
	if k.lanes&o.lanes != 0 {
		o.eachHash(func(hash uint64) bool {
			common = k.Has(hash)
			return !common
		})
	}
	return common
}
