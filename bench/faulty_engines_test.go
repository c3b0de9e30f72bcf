package bench

import (
	"runtime"
	"slices"
)

// The engines with the faults that verification has to find.

func badGet(f func(s *tampered, table int, key int64) (Record, bool)) func(*tampered) {
	return func(s *tampered) {
		bad := every(100)
		s.get = func(table int, key int64) (Record, bool) {
			if bad() {
				return f(s, table, key)
			}
			return s.Access.Get(table, key)
		}
	}
}

func badPut(f func(s *tampered, table int, key int64, r Record)) func(*tampered) {
	return func(s *tampered) {
		bad := every(100)
		s.put = func(table int, key int64, r Record) {
			if bad() {
				f(s, table, key, r)
				return
			}
			s.Access.Put(table, key, r)
		}
	}
}

func badRange(f func(s *tampered, low int64, visit func(int64, Record) bool)) func(*tampered) {
	return func(s *tampered) {
		bad := every(20)
		s.ranges = func(table int, low int64, visit func(int64, Record) bool) {
			if bad() {
				f(s, low, visit)
				return
			}
			s.Access.Range(table, low, visit)
		}
	}
}

// spoiled replaces one of twenty byte slices that are read by the result of spoil.
func spoiled(spoil func([]byte) []byte) func(*tampered) {
	return badGet(func(s *tampered, table int, key int64) (Record, bool) {
		r, ok := s.Access.Get(table, key)
		if ok && len(r.Bytes) > 0 {
			r.Bytes = spoil(r.Bytes)
		}
		return r, ok
	})
}

// inSteps has each call in a transaction that writes be one of its own: somebody must look into the
// gap.
func inSteps(s *tampered) {
	s.do = func(readOnly bool, fn func(Access) error) error {
		if readOnly {
			return s.Session.Do(true, fn)
		}
		return fn(s)
	}
	s.get = func(table int, key int64) (r Record, ok bool) {
		_ = s.Session.Do(true, func(tx Access) error { r, ok = tx.Get(table, key); return nil })
		return r, ok
	}
	s.put = func(table int, key int64, r Record) {
		_ = s.Session.Do(false, func(tx Access) error { tx.Put(table, key, r); return nil })
		runtime.Gosched()
	}
}

// live is a snapshot that goes on with the engine.
type live struct {
	Session
	Access
}

func (l live) Get(table int, key int64) (r Record, ok bool) {
	_ = l.Session.Do(true, func(tx Access) error { r, ok = tx.Get(table, key); return nil })
	return r, ok
}

// lost is a transaction that writes nothing.
type lost struct{ Access }

func (lost) Put(int, int64, Record) {}
func (lost) Delete(int, int64)      {}

// blind is a transaction that reads the records from before it.
type blind struct {
	Access
	before map[int64]Record
}

func (b *blind) Put(table int, key int64, r Record) {
	if b.before == nil {
		b.before = map[int64]Record{}
	}
	b.before[key], _ = b.Access.Get(table, key)
	b.Access.Put(table, key, r)
}

func (b *blind) Get(table int, key int64) (Record, bool) {
	if r, has := b.before[key]; has {
		return r, true
	}
	return b.Access.Get(table, key)
}

// badEnd is an engine that does everything right but for the reads at the end.
func badEnd() EngineSpec {
	return tamper(func(s *tampered, worker int) {
		if worker >= 0 {
			return
		}
		seen := map[int]map[int64]bool{} // by table: each record is read when the tables have been filled
		s.get = func(table int, key int64) (Record, bool) {
			r, ok := s.Access.Get(table, key)
			if seen[table][key] {
				r.Number, r.Bytes, ok = r.Number+1, append(slices.Clone(r.Bytes), 1), true
			}
			if seen[table] == nil {
				seen[table] = map[int64]bool{}
			}
			seen[table][key] = true
			return r, ok
		}
	})
}
