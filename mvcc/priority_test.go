package mvcc

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of the priority run in a bubble, where time passes only while all
// goroutines wait for it.

// beat makes the holder show signs of life until the returned function is called.
func beat(m *Map[string, int], ticket uint64) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(honourPatience / 4):
				m.priority.alive(ticket)
			}
		}
	}()
	return func() { close(stop); <-done }
}

func TestWritersHonourPriority(t *testing.T) {
	for name, write := range map[string]func(m *Map[string, int]){
		"Store":          func(m *Map[string, int]) { m.Store("k", 2) },
		"CompareAndSwap": func(m *Map[string, int]) { CompareAndSwap(m, "k", 1, 2) },
		"Commit": func(m *Map[string, int]) {
			tx := m.Begin(nil)
			tx.Set("k", 2)
			tx.Set("l", 2)
			_ = tx.Commit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New[string, int](still())
				defer m.Close()
				m.Store("k", 1)
				ticket := m.priority.acquire(bg)
				end := beat(m, ticket)
				done := make(chan struct{})
				go func() { write(m); close(done) }()
				time.Sleep(honourLimit / 2)
				synctest.Wait()
				requireValue(t, 1)(m.Load("k"))
				end()
				m.priority.release(ticket)
				<-done
				requireValue(t, 2)(m.Load("k"))
			})
		})
	}
}

func TestSilentHolderLosesPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](still())
		defer m.Close()
		ticket := m.priority.acquire(bg)
		start := time.Now()
		m.Store("k", 1)
		require.Less(t, time.Since(start), 2*honourPatience)
		require.Zero(t, m.priority.holder.Load())
		require.NotEqual(t, ticket, m.priority.renew(bg, ticket), "it has to ask again")
	})
}

func TestPriorityEndsAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](still())
		defer m.Close()
		ticket := m.priority.acquire(bg)
		end := beat(m, ticket)
		defer end()
		start := time.Now()
		m.Store("k", 1)
		require.Less(t, time.Since(start), 2*honourLimit)
		require.Equal(t, ticket, m.priority.holder.Load())
		require.Equal(t, ticket, m.priority.renew(bg, ticket))
		require.Zero(t, m.priority.acquire(bg), "it is not waited for longer")
		require.Less(t, time.Since(start), 4*honourLimit)
		m.priority.release(ticket)
		require.NotZero(t, m.priority.acquire(bg))
	})
}

func TestAcquireEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](still())
		defer m.Close()
		ticket := m.priority.acquire(bg)
		defer beat(m, ticket)()
		ctx, cancel := context.WithCancel(bg)
		cancel()
		start := time.Now()
		require.Zero(t, m.priority.acquire(ctx))
		require.Zero(t, time.Since(start))
	})
}

func TestPriorityBelongsToTicket(t *testing.T) {
	var p priority
	first := p.acquire(bg)
	p.release(first)
	second := p.acquire(bg)
	p.release(first)
	p.release(0)
	require.Equal(t, second, p.holder.Load())
	before := p.beat.Load()
	p.alive(first)
	require.Equal(t, before, p.beat.Load(), "a sign of life of somebody else")
	p.alive(second)
	require.NotEqual(t, before, p.beat.Load())
}
