package cli

import (
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// A watcher reads the trial that is being measured once in an interval, and at its end, and hands
// on what it has done meanwhile. It is an observer of the sweep.
type watcher struct {
	told func(step bench.Step, i interval) // with mu held

	mu     sync.Mutex
	recent recent
	step   bench.Step
	trial  *bench.Trial // nil between the samples
	began  time.Time    // when its measured run did; zero if it has not been read yet
	stop   chan struct{}
	done   sync.WaitGroup
}

// newWatcher starts reading once in an interval.
func newWatcher(every time.Duration, told func(step bench.Step, i interval)) *watcher {
	w := &watcher{told: told, stop: make(chan struct{})}
	w.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-t.C:
				w.mu.Lock()
				w.read(0)
				w.mu.Unlock()
			}
		}
	})
	return w
}

// read hands on what the trial has done, if there is one. It took so long or, if took is zero, is
// still running. w.mu is held.
func (w *watcher) read(took time.Duration) {
	if w.trial == nil {
		return
	}
	i, ok := w.recent.next(w.trial, took)
	if !ok {
		return
	}
	if w.began.IsZero() {
		w.began = time.Now().Add(-i.now.Elapsed)
	}
	i.from = w.began.Add(i.before.Elapsed)
	w.told(w.step, i)
}

// Start implements [bench.Observer].
func (w *watcher) Start(step bench.Step, _ *bench.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step, w.trial = step, nil
}

// Running implements [bench.Observer].
func (w *watcher) Running(_ bench.Step, t *bench.Trial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trial, w.began = t, time.Time{}
}

// Done implements [bench.Observer].
func (w *watcher) Done(_ bench.Step, m bench.Measurement) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read(m.Wall)
	w.trial = nil
	return nil
}

// close ends the reading.
func (w *watcher) close() {
	close(w.stop)
	w.done.Wait()
}
