package mvcc

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// How Options.Strict notices that a value was changed after it was stored.
//
//   - V1: the fingerprint of a version is noted by the goroutine that is about to install it, while
//     it is private: before anybody else can read the value, and so change it.
//   - V2: the goroutine whose version has been committed on top takes the note, and compares,
//     before its writing call returns. There is one such goroutine, and only to it Swap or
//     LoadAndDelete gives the value: so whoever has got a value out of the map may change it.
//   - V3: Close compares the newest versions, under the mutex: a goroutine that covers one of them
//     takes its note before or after.
//
// Maps without the option pay nothing: [favour.Queue.AlwaysAny] leads writers of strict maps to the
// place where they look for claims on their keys.

// stored has a note of each version of a strict map that is committed or about to be: V1 to V2.
type stored struct {
	seed maphash.Seed
	mu   sync.Mutex // held to use of, or to compare one value
	of   map[*chain.Node]storedValue
}

// A storedValue has the fingerprint of a value when it was stored, and the calls that led there.
type storedValue struct {
	fingerprint fingerprint
	calls       []uintptr
}

// valueOf returns where the value of v is.
func (m *core) valueOf(v *chain.Node) unsafe.Pointer {
	align := uintptr(m.types.value.Align())
	return unsafe.Add(v.Key(), (m.types.key.Size()+align-1)&^(align-1))
}

// noteStored notes v, which is private, see V1.
func (m *core) noteStored(v *chain.Node, calls []uintptr) {
	s := &m.shared.strict.stored
	if v.Tombstone() || m.shared.strict.closed.Load() {
		return
	}
	one := storedValue{fingerprintOf(s.seed, m.types.value, m.valueOf(v)), calls}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[v] = one
}

// forgetStored drops the note of v, which is not in the map.
func (m *core) forgetStored(v *chain.Node) { m.shared.strict.stored.take(v) }

func (s *stored) take(v *chain.Node) (was storedValue, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok = s.of[v]; ok {
		delete(s.of, v)
	}
	return was, ok
}

// covered takes the note of v, and returns how v's value was changed, or "" if it was not changed.
// The caller has committed a version on top of v. See V2.
func (m *core) covered(v *chain.Node) (mistake string) {
	was, ok := m.shared.strict.stored.take(v)
	if !ok {
		return ""
	}
	return m.changed(v, was, m.changedPlace(v, was))
}

// uncovered takes the note of v, the newest version of a key, and compares like covered. See V3.
func (m *core) uncovered(v *chain.Node) (mistake string) {
	s := &m.shared.strict.stored
	look := func() (was storedValue, place string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if was, ok := s.of[v]; ok {
			delete(s.of, v)
			return was, m.changedPlace(v, was)
		}
		return was, ""
	}
	was, place := look()
	return m.changed(v, was, place)
}

func (m *core) changedPlace(v *chain.Node, was storedValue) string {
	return was.fingerprint.change(m.shared.strict.stored.seed, m.types.value, m.valueOf(v))
}

// changed returns a text that says that a place of the value of v was changed, if place is not "".
// Functions of the program may print the key.
func (m *core) changed(v *chain.Node, was storedValue, place string) (mistake string) {
	if place == "" {
		return ""
	}
	if strings.HasSuffix(place, beyondLen) {
		place += ", where append writes (append to slices.Clip of it)"
	}
	table := ""
	if name := m.counters.name; name != "" {
		table = fmt.Sprintf("table %q, ", name)
	}
	return fmt.Sprintf("%skey %v was changed after it was stored: %s%s", table,
		m.index.Hash.Boxed(v.Key()), place, was.by())
}

// by says which call of the program has stored the value, if that is known.
func (v storedValue) by() string {
	if calls := programOf(v.calls); len(calls) > 0 {
		at := calls[0]
		return fmt.Sprintf("; it was stored by %s (%s:%d)", at.Function, at.File, at.Line)
	}
	return ""
}

// unnoted drops the note of v, which is written by other means.
func (m *core) unnoted(v *chain.Node) {
	if m.watched {
		m.forgetStored(v)
	}
}

// checkCovered fails if the value of base was changed. The caller has committed a one-key write on
// top of base.
func (m *core) checkCovered(base *chain.Node) {
	if base == nil || !m.watched {
		return
	}
	if mistake := m.covered(base); mistake != "" {
		m.shared.strict.fail(mistake)
	}
}

// A storing is the merger of a transaction's write to a strict map: it does the write's own merge,
// if there is one, and notes the version.
type storing struct {
	of      *core
	merging merger      // or nil
	v, base *chain.Node // of the last attempt
	calls   []uintptr
}

func (s *storing) mergeInto(v, base *chain.Node) {
	s.of.forgetStored(s.v)
	s.v, s.base = v, base
	if s.merging != nil {
		s.merging.mergeInto(v, base)
	}
	s.of.noteStored(v, s.calls)
}

// merges reports whether the value that is written depends on the one that is there.
func (w *write) merges() bool {
	if s, ok := w.merge.(*storing); ok {
		return s.merging != nil
	}
	return w.merge != nil
}

// noteStored has the commit that is about to begin note the values that it stores.
func (st *txState) noteStored() {
	if !st.m.strict {
		return
	}
	var calls []uintptr
	for i := range st.writes {
		w := &st.writes[i]
		if m := st.parts[w.of].m; m.watched {
			if calls == nil {
				calls = callersHere()
			}
			w.merge = &storing{of: m, merging: w.merge, calls: calls}
		}
	}
}

// settleStored takes the notes of the values that the commit has covered, and says if a value was
// changed. If the commit has failed, settleStored drops the notes of the commit's own values.
func (st *txState) settleStored(committed bool) (mistake string) {
	if !st.m.strict {
		return ""
	}
	for i := range st.writes {
		switch s, ok := st.writes[i].merge.(*storing); {
		case !ok || s.v == nil:
		case !committed:
			s.of.forgetStored(s.v)
		case s.base != nil:
			if found := s.of.covered(s.base); mistake == "" {
				mistake = found
			}
		}
	}
	return mistake
}

// checkStored settles the notes of a commit, and fails if a value that it covered was changed.
func (st *txState) checkStored(committed bool) {
	if mistake := st.settleStored(committed); mistake != "" {
		st.m.shared.strict.fail(mistake)
	}
}

// checkStored fails if a value in one of the maps was changed, see V3. s is the strict of the maps.
// (checkStored is no method of strict, which would lead to the engine.)
func checkStored(s *strict, maps ...*core) {
	first, more := "", 0
	for _, m := range maps {
		if !m.watched {
			continue
		}
		m.index.Scan(func(_ index.Place, head *chain.Node) bool {
			v := m.Newest(head)
			if !v.There() {
				return true
			}
			switch mistake := m.uncovered(v); {
			case mistake == "":
			case first == "":
				first = mistake
			default:
				more++
			}
			return true
		})
	}
	if more > 0 {
		first += fmt.Sprintf(" (and so were %d more)", more)
	}
	if first != "" {
		s.fail(first)
	}
}

// callersHere returns the program counters of the calls that have led here, for programOf.
func callersHere() []uintptr {
	var pcs [64]uintptr
	return slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}
