package etcdtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// WaitFor a revision that Epoch has told of in another process comes to an end, though nothing was
// committed at that revision, and nobody commits; and it waits for one that is still to come.
func TestWaitForEpoch(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	q := open(t, c, prefix, nil)
	q.set(t, q.a, "x", 1)
	other := open(t, c, newPrefix(), nil) // another program in the same cluster
	other.set(t, other.a, "x", 1)
	p := open(t, c, prefix, nil)
	require.Less(t, q.Epoch(), p.Epoch())
	require.NoError(t, q.WaitFor(within(t), p.Epoch()))

	late := p.Epoch() + 1_000_000
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error, 1)
	go func() { done <- q.WaitFor(ctx, late) }()
	p.set(t, p.a, "x", 2)
	require.Empty(t, done)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

// An Update that writes nothing, or whose function fails, has seen the commits of others if it is
// fresh; else it has seen those that the process has.
func TestFresh(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]error{"nothing written": nil, "error": errors.New("mine")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			hold, goOn := make(chan bool), make(chan bool)
			release := sync.OnceFunc(func() { close(goOn) })
			p := open(t, c, prefix, func(cfg *etcd.Config) {
				received(cfg, func(context.Context, any) {
					select {
					case <-hold:
						<-goOn
					default:
					}
				})
			})
			t.Cleanup(release)
			q := open(t, c, prefix, nil)
			close(hold)
			q.set(t, q.a, "x", 1)
			var seen []int
			read := func(tx mvcc.DBTx) error {
				v, _ := p.a.In(tx).Get("x")
				if seen = append(seen, v); v == 0 {
					return old
				}
				return nil
			}
			require.Equal(t, old, p.Update(within(t), nil, read))
			require.NoError(t, p.Update(etcd.Fresh(within(t)), &mvcc.TxOptions{MaxAttempts: 1}, func(tx mvcc.DBTx) error {
				defer release()
				return read(tx)
			}))
			require.Equal(t, []int{0, 0, 1}, seen)
		})
	}
}

// Sync that is under way when Close is called says that the database is closed.
func TestSyncWhileClosing(t *testing.T) {
	t.Parallel()
	hold, held := make(chan bool), make(chan bool, 1)
	p := open(t, shared(t), newPrefix(), func(cfg *etcd.Config) {
		unary(cfg, func(ctx context.Context, req, reply any, send func() error) error {
			select {
			case <-hold:
			default:
				return send()
			}
			select {
			case held <- true:
			default:
			}
			<-ctx.Done()
			return ctx.Err()
		})
	})
	close(hold)
	done := make(chan error, 1)
	go func() {
		_, err := p.Sync(within(t))
		done <- err
	}()
	<-held
	require.NoError(t, p.Close())
	require.ErrorIs(t, <-done, etcd.ErrClosed)
}
