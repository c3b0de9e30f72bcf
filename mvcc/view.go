package mvcc

import "context"

// View calls fn with a snapshot of the map, closes the snapshot, even when fn panics or calls
// runtime.Goexit, and returns fn's error unchanged. It waits for no transaction, never conflicts,
// runs fn exactly once, and allocates nothing itself. The snapshot must not be used after fn has
// returned. If it was evicted, being older than Options.MaxTxAge, and fn has read from it since,
// View returns [ErrTxTooOld]: fn does not go on after that read. In goroutines that fn starts the
// panic is theirs.
func (m *Map[K, V]) View(fn func(s Snapshot[K, V]) error) error {
	if fn == nil {
		panic("mvcc: View: fn is nil")
	}
	if m.unguarded {
		s := m.at.open()
		defer s.Close()
		return fn(Snapshot[K, V](s))
	}
	return m.engine().view(func(s moment) error { return fn(Snapshot[K, V](s)) })
}

// ViewValue is [Map.View] for a function that returns a value. It returns fn's value, or
// the zero value and an error.
func ViewValue[K comparable, V, R any](
	m *Map[K, V], fn func(s Snapshot[K, V]) (R, error),
) (R, error) {
	if fn == nil {
		panic("mvcc: ViewValue: fn is nil")
	}
	var result R
	err := m.View(func(s Snapshot[K, V]) (err error) {
		result, err = fn(s)
		return err
	})
	if err != nil {
		var none R
		return none, err
	}
	return result, nil
}

// ViewContext is [Map.View] that ends when ctx does: from then on the snapshot keeps
// nothing from being reclaimed, fn does not go on after its next read, or one soon after,
// and ViewContext returns an error that wraps ctx's error and its cause. If fn returns
// before, its error is returned. It does not call fn if ctx has ended before. In goroutines
// that fn starts a read of a snapshot that has ended in this way panics with
// [ErrTxTooOld]. ctx must not be nil. It costs some allocations more than View, unless ctx
// never ends.
func (m *Map[K, V]) ViewContext(ctx context.Context, fn func(s Snapshot[K, V]) error) (err error) {
	checkContext("ViewContext", ctx)
	if fn == nil {
		panic("mvcc: ViewContext: fn is nil")
	}
	return m.engine().viewContext(ctx, func(s moment) error { return fn(Snapshot[K, V](s)) })
}
