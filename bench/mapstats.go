package bench

import "github.com/mvccmap/mvccmap/mvcc"

// MapStats returns the statistics of the map under test; ok is false if it is
// not a [mvcc.Map]. It may be called by any goroutine once the map has been
// filled, and costs what [mvcc.Map.Stats] does.
func (t *Trial) MapStats() (s mvcc.Stats, ok bool) {
	r, ok := t.rig.(interface{ engineItself() any })
	if !ok {
		return s, false
	}
	e, ok := r.engineItself().(interface{ mapStats() mvcc.Stats })
	if !ok {
		return s, false
	}
	return e.mapStats(), true
}

func (r *rigOf[K, V]) engineItself() any { return r.engine }

func (e *mvccEngine[K, V]) mapStats() mvcc.Stats { return e.m.Stats() }
