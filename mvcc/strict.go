package mvcc

import (
	"context"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/debug/trial"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// A strict exists with Options.Strict, one for a database or for a map by itself. For each
// goroutine it has the functions of the program in which the goroutine is. Code of a map looks for
// its strict only where core.strict is set or core.plain is not.
type strict struct {
	mu      sync.Mutex
	within  map[goid.ID][]scope // the functions of the program that are under way, the innermost last
	commits atomic.Uint64       // by hand, of transactions that could conflict

	// Programs compile in all types that can be reached from this one: so it leads to no core.

	stored stored
	trial  *trial.TestHooks // or nil: then a mistake is a panic
	closed atomic.Bool      // the map or database
	// dropped are transactions and snapshots that the garbage collector has ended, if there is a
	// trial; mu guards it.
	dropped []trial.Left
}

// A scope is a function of the program that the library calls.
type scope struct {
	what string
	// beside names the handle that the function uses instead of the map itself, "" if it must use
	// neither.
	beside string
	writes bool // it may write to the map itself
}

// A use is the kind of a call that is about to use a map.
type use uint8

const (
	useTx    use = iota // use a transaction or snapshot that there is
	useRead             // read the map itself
	useWrite            // write the map itself, or begin a transaction
)

// forcedConflict: of so many commits by hand that could conflict, one is made to conflict.
const forcedConflict = 8

func newStrict(o *Options) *strict {
	if !o.Strict {
		return nil
	}
	return &strict{within: map[goid.ID][]scope{}, trial: o.trial,
		stored: stored{seed: maphash.MakeSeed(), of: map[*chain.Node]storedValue{}}}
}

// run calls f, and notes meanwhile that the goroutine is within the function of.
func (s *strict) run(of scope, f func()) {
	id := goid.Get()
	s.mu.Lock()
	outer := s.within[id]
	s.within[id] = append(outer[:len(outer):len(outer)], of)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.within[id] = outer; len(outer) == 0 {
			delete(s.within, id)
		}
	}()
	f()
}

// beyond calls f, a part of the library, as if it were called by no function of the program.
func (s *strict) beyond(f func()) {
	id := goid.Get()
	s.mu.Lock()
	outer := s.within[id]
	delete(s.within, id)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(outer) > 0 {
			s.within[id] = outer
		}
	}()
	f()
}

// fail reports a mistake.
func (s *strict) fail(mistake string) {
	if !s.reports(mistake) {
		panic("mvcc: Strict: " + mistake)
	}
}

// check fails if a function that the calling goroutine is within must not use the table as u says.
func (s *strict) check(u use, table string) {
	s.mu.Lock()
	scopes := s.within[goid.Get()]
	s.mu.Unlock()
	what := "the map"
	if table != "" {
		what = fmt.Sprintf("table %q", table)
	}
	for i := len(scopes) - 1; i >= 0; i-- {
		switch of := scopes[i]; {
		case of.beside == "":
			s.fail(fmt.Sprintf("%s uses the database", of.what))
			return
		case u == useRead:
			s.fail(fmt.Sprintf("%s reads %s beside its %s", of.what, what, of.beside))
			return
		case u == useWrite && !of.writes:
			s.fail(fmt.Sprintf("%s writes %s beside its %s", of.what, what, of.beside))
			return
		}
	}
}

// twice calls f twice and returns the result. It fails if the results differ, or if f uses the
// database.
func twice[R any](s *strict, what string, f func() R) (result R) {
	return twiceAs(s, what, same, f)
}

// twiceAs is twice, with alike to compare the results.
func twiceAs[R any](s *strict, what string, alike func(a, b R) bool, f func() R) (result R) {
	s.run(scope{what: what}, func() {
		first := f()
		if result = f(); !alike(first, result) {
			s.fail(fmt.Sprintf("%s returns %s, and %s for the same arguments", what, seam.Printed(first),
				seam.Printed(result)))
		}
	})
	return result
}

// beside fails if a function that the calling goroutine is within must not use the map as u says.
func (m *core) beside(u use) { m.shared.strict.check(u, m.counters.name) }

// besideOpen is beside for the begin of a transaction, or a snapshot.
func (m *core) besideOpen(kind uint64) {
	if kind&epoch.MayWrite == 0 {
		m.beside(useRead)
	} else {
		m.beside(useWrite)
	}
}

// updateStrictly is Update that notes that the goroutine is within fn while it is. If there may be
// a second attempt, it first runs fn in a transaction that is rolled back, as if after a conflict.
func (m *core) updateStrictly(
	ctx context.Context, opts *TxOptions, fn func(tx DBTx) error,
) error {
	if m.indexed() {
		return m.updateIndexed(ctx, opts, fn) // which comes here for the database
	}
	run := func(tx DBTx) (err error) {
		of := scope{what: "the function of an Update", beside: "transaction"}
		m.shared.strict.run(of, func() { err = fn(tx) })
		return err
	}
	attempts := opts.attempts()
	if m.shared.strict.trial != nil {
		return m.updateOnTrial(ctx, opts, attempts, run)
	}
	if attempts > 1 {
		if err := m.rehearse(opts, run); err != nil {
			return err
		}
	}
	return m.updateAtLast(ctx, opts, attempts, run)
}

// updateAtLast is Update with the given number of attempts, which are not strict any more.
func (m *core) updateAtLast(
	ctx context.Context, opts *TxOptions, attempts int, run func(tx DBTx) error,
) error {
	var own TxOptions
	if opts != nil {
		own = *opts
	}
	own.own, own.MaxAttempts = true, attempts
	return m.update(ctx, &own, run)
}

// rehearse returns the error of run in a transaction that is rolled back.
func (m *core) rehearse(opts *TxOptions, run func(tx DBTx) error) error {
	tx := m.beginTx(opts)
	defer tx.Rollback()
	return tx.rehearsed(run)
}

// rehearsed returns the error of run, or that for a transaction that has ended meanwhile.
func (tx DBTx) rehearsed(run func(tx DBTx) error) error {
	st := stateOf(tx.st)
	err := st.guarded(tx.gen, func() error { return run(tx) })
	if err == nil && st.gen() != tx.gen {
		err = st.over(tx.gen)
	}
	return err
}

// forced ends the transaction gen with a conflict, and returns the conflict, if the transaction
// could have had one and strict.forces chooses this commit.
func (st *txState) forced(gen epoch.Gen) error {
	if !st.canConflict() || !st.m.shared.strict.forces() {
		return nil
	}
	return st.force(gen, 1)
}

// canConflict reports whether a transaction with such reads and writes could conflict.
func (st *txState) canConflict() bool { return st.hasRead && len(st.writes) > 0 }

// forces reports whether a commit by hand that could conflict is made to.
func (s *strict) forces() bool {
	if s.trial != nil && s.trial.Chance != nil {
		return s.trial.Chance()
	}
	return s.commits.Add(1)%forcedConflict == 0
}

// force ends the transaction gen, which could conflict, with a conflict, which it returns.
func (st *txState) force(gen epoch.Gen, attempts int) error {
	c := st.yield(st.conflictKind(), st.claimHash(&st.writes[0]))
	st.finish(gen)
	return c.err(attempts)
}

// mergeTwice calls fn, the function of a Merge, twice, and returns the result.
func mergeTwice[V any](s *strict, fn func(old V, ok bool) V, old V, ok bool) V {
	return twice(s, "the function of a Merge", func() V { return fn(old, ok) })
}

// same reports whether a and b are alike, as far as can be seen. Two functions or channels are
// alike if both are nil or neither is; two NaNs are alike. same does not look deeper than 32
// levels, since a value may contain itself, nor at more than a million values.
func same[T any](a, b T) bool {
	most := 1_000_000
	return alike(reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem(), 0, &most)
}

// sameKeys reports whether a and b have the same index keys, in any order: so a function may take
// them from a map.
func sameKeys[I comparable](a, b []I) bool {
	in := func(list, other []I) bool {
		return !slices.ContainsFunc(list, func(key I) bool {
			return key == key && !slices.Contains(other, key)
		})
	}
	return in(a, b) && in(b, a)
}

func alike(a, b reflect.Value, depth int, most *int) bool {
	const deep = 32
	if *most--; depth > deep || *most < 0 {
		return true
	}
	switch a.Kind() {
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return a.Uint() == b.Uint()
	case reflect.String:
		return a.String() == b.String()
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return a.Equal(b) || !a.Equal(a) && !b.Equal(b)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return a.IsNil() == b.IsNil()
	case reflect.Interface, reflect.Pointer:
		switch {
		case a.IsNil() || b.IsNil():
			return a.IsNil() == b.IsNil()
		case a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer():
			return true
		}
		return a.Elem().Type() == b.Elem().Type() && alike(a.Elem(), b.Elem(), depth+1, most)
	case reflect.Struct:
		for i := range a.NumField() {
			if !alike(a.Field(i), b.Field(i), depth+1, most) {
				return false
			}
		}
		return true
	case reflect.Array, reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i), depth+1, most) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() {
			other := b.MapIndex(key)
			if key.Equal(key) && !(other.IsValid() && alike(a.MapIndex(key), other, depth+1, most)) {
				return false
			}
		}
		return true
	}
	return true
}
