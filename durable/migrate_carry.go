package durable

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/seam"
)

// A carrier moves the records of a saved table to another table, or to other keys, and knows where
// the records are. As a decoder it returns the moved record.
//
// A backup has the state of one moment, and the records of its tables one after the other. So only
// when all were read is it known which keys are free: changes by differences are kept until then,
// and then records that leave their keys go first.
type carrier interface {
	decoder
	// read decodes an old record, for take of this carrier, or of another one of the same types.
	read(from decoder) (record any, err error)
	// take moves a record, or keeps it until settle if differences are read.
	take(r *route, record any, once bool) error
	// begin forgets the records kept, and leave says that all records of before go.
	begin()
	leave()
	// release takes out the records that have left their keys, and claim puts in those there now.
	release(r *route) error
	claim(r *route) error
	// oldKey returns the old key of the record that is at a new key.
	oldKey(key any) any
	// owners returns an empty map for target.owners.
	owners() any
}

// A route is where a carrier moves records to, and on.
type route struct {
	carrier
	move *migration
	top  decoder // of the records added to the table: the carrier, or the last step behind it
	to   *target
	load seam.Loader // of the table
}

// drops reports whether a step behind the carrier leaves out the record that was decoded last.
func (r *route) drops() bool {
	last, is := r.top.(dropper)
	return is && last.drops()
}

// A dropper is a step.
type dropper interface{ drops() bool }

// A target is a table that records are moved to.
type target struct {
	owners any               // a map from keys to the routes of the records there
	stay   func() *migration // the move of its types to itself
	anew   bool              // nothing was moved to it yet
}

// A sent is a record that is moved.
type sent[K, K2 comparable, V any] struct {
	key  K
	to   K2
	v    V
	gone bool
}

type carry[K comparable, Old any, K2 comparable, New any] struct {
	of *migration
	fn func(K, Old) (K2, New, error)
	at map[K]K2 // where the records are

	old  seam.Saved[K, Old]
	next sent[K, K2, New] // the record that Decode returns
	// These are changes by differences, until all are read.
	list []sent[K, K2, New]
	last map[K]int // the number of a key in list
	left bool
}

func (m *carry[K, Old, K2, New]) owners() any { return map[K2]*route{} }

func (m *carry[K, Old, K2, New]) Decode(to any) error {
	hand(&seam.Saved[K2, New]{K: m.next.to, V: m.next.v, D: m.next.gone}, to)
	return nil
}

func (m *carry[K, Old, K2, New]) read(from decoder) (any, error) {
	if err := seam.DecodeRecord(from, &m.old); err != nil {
		return nil, err
	}
	k := m.old.K
	if !reflect.ValueOf(&k).Elem().Comparable() || k != m.old.K {
		return nil, fmt.Errorf("the key %s (%T) cannot be compared", seam.KeyText(k), k)
	}
	return &m.old, nil
}

func (m *carry[K, Old, K2, New]) take(r *route, record any, once bool) error {
	old := record.(*seam.Saved[K, Old])
	x := sent[K, K2, New]{key: old.K, gone: old.D}
	if !x.gone {
		var err error
		if x.to, x.v, err = m.fn(old.K, old.V); err != nil {
			if err = m.of.failed(old.K, err); err != nil {
				return err
			}
			x = sent[K, K2, New]{key: old.K, gone: true}
		}
	}
	if once {
		if _, there := m.at[x.key]; there {
			return fmt.Errorf("the key %s is there twice: which one is right is not known",
				seam.KeyText(x.key))
		}
		if x.gone {
			return nil
		}
		return m.put(r, &x)
	}
	if i, there := m.last[x.key]; there {
		m.list[i] = x
	} else {
		m.last[x.key] = len(m.list)
		m.list = append(m.list, x)
	}
	return nil
}

func (m *carry[K, Old, K2, New]) begin() { m.list, m.last, m.left = nil, map[K]int{}, false }

func (m *carry[K, Old, K2, New]) leave() { m.begin(); m.left = true }

func (m *carry[K, Old, K2, New]) release(r *route) error {
	free := func(key K, at K2) error {
		if i, there := m.last[key]; there && !m.list[i].gone && m.list[i].to == at {
			return nil // it stays where it is
		}
		delete(m.at, key)
		delete(r.to.owners.(map[K2]*route), at)
		m.next = sent[K, K2, New]{to: at, gone: true}
		return r.load.Add(r.top, false)
	}
	if m.left {
		for key, at := range m.at {
			if err := free(key, at); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range m.list {
		if at, there := m.at[m.list[i].key]; there {
			if err := free(m.list[i].key, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *carry[K, Old, K2, New]) claim(r *route) error {
	for i := range m.list {
		if !m.list[i].gone {
			if err := m.put(r, &m.list[i]); err != nil {
				return err
			}
		}
	}
	m.begin()
	return nil
}

// put puts a record where it is now.
func (m *carry[K, Old, K2, New]) put(r *route, x *sent[K, K2, New]) error {
	if !reflect.ValueOf(&x.to).Elem().Comparable() {
		return m.of.failed(x.key, fmt.Errorf("its new key %s (%T) cannot be compared",
			seam.KeyText(x.to), x.to))
	}
	m.next = *x
	owners := r.to.owners.(map[K2]*route)
	owner, taken := owners[x.to]
	at, there := m.at[x.key]
	if mine := owner == r && there && at == x.to; taken && !mine {
		if err := r.top.Decode(nil); err != nil || r.drops() {
			return err
		}
		return m.of.failed(x.key, fmt.Errorf("its new key is %s, and so is that of key %s of table %q",
			seam.KeyText(x.to), seam.KeyText(owner.oldKey(x.to)), owner.move.from))
	}
	if err := r.load.Add(r.top, false); err != nil {
		if !errors.As(err, new(*MigrationError)) { // the new key is none
			err = m.of.failed(x.key, err)
		}
		return err
	}
	if r.drops() {
		delete(owners, x.to)
		delete(m.at, x.key)
	} else {
		owners[x.to], m.at[x.key] = r, x.to
	}
	return nil
}

func (m *carry[K, Old, K2, New]) oldKey(key any) any {
	for old, at := range m.at {
		if at == key.(K2) {
			return old
		}
	}
	return nil
}
