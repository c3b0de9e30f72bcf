package mvcctest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/mvcctest"
)

// All maps of a test have one trial, which moves their time.
func ExampleNew() {
	t := &printer{}
	trial := mvcctest.New(t, nil)
	sessions := mvcc.New[string, time.Time](trial.Options())
	defer sessions.Close()
	sessions.Expire(func(_ string, end time.Time) time.Time { return end })
	sessions.Store("ada", trial.Now().Add(time.Hour))

	trial.Advance(59 * time.Minute)
	fmt.Println(sessions.Len())
	trial.Advance(2 * time.Minute)
	fmt.Println(sessions.Len())
	// Output:
	// 1
	// 0
}

// A step is as a tick of the background work.
func ExampleHarness_Step() {
	t := &printer{}
	trial := mvcctest.New(t, nil)
	opts := trial.Options()
	opts.ManualReclaim = true
	m := mvcc.New[string, int](opts)
	defer m.Close()

	changes := m.Watch(context.Background(), nil)
	s := m.Snapshot()
	m.Store("a", 1)
	m.Store("a", 2)
	s.Close()
	trial.Step() // the watch is told
	fmt.Println(m.Stats().WatchWaiting, "changes wait")
	for c, err := range changes {
		if err != nil || c.Changes[0].New == 2 {
			break
		}
	}
	trial.Step() // versions that nobody sees are dropped
	fmt.Println(m.Stats().Versions, "version")
	// Output:
	// 2 changes wait
	// 1 version
}
