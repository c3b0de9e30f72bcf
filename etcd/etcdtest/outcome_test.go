package etcdtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A request that somebody on the way sends twice is applied once, and its Update knows that, after others
// have written to the table, and to the record.
func TestSentAgainAfterOthers(t *testing.T) {
	t.Parallel()
	for kind, add := range adders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, prefix := shared(t), newPrefix()
			p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
			p.set(t, p.a, "x", 0)
			for i := range 3 {
				p.wire.once(func(ctx context.Context, send func(context.Context) error) error {
					_ = send(ctx)
					require.NoError(t, q.Update(within(t), nil, adders["read and written"](q)))
					q.set(t, q.a, "other", i)
					return send(ctx)
				})
				require.NoError(t, p.Update(within(t), nil, add(p)))
				_, err := p.Sync(within(t))
				require.NoError(t, err)
				v, _ := p.a.Load("x")
				require.Equal(t, 2*(i+1), v)
			}
			require.Zero(t, p.Stats().Conflicts)
		})
	}
}

// So is one that inserts a record that others delete before it comes for the second time.
func TestSentAgainAfterDeletion(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
	p.set(t, p.a, "other", 0) // it has a slot
	p.wire.once(func(ctx context.Context, send func(context.Context) error) error {
		_ = send(ctx)
		_, err := q.Sync(within(t))
		require.NoError(t, err)
		q.delete(t, q.a, "x")
		return send(ctx)
	})
	require.NoError(t, p.Update(within(t), nil, adders["read and written"](p)))
	_, err := p.Sync(within(t))
	require.NoError(t, err)
	_, has := p.a.Load("x")
	require.False(t, has)
}

// One that inserts a record, and is refused, is not applied either if it comes for the second time
// once that record has gone.
func TestSentAgainAfterRefusal(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	p, q := open(t, c, prefix, nil), open(t, c, prefix, nil)
	p.set(t, p.a, "other", 0) // it has a slot
	p.wire.once(func(ctx context.Context, send func(context.Context) error) error {
		q.set(t, q.a, "x", 5)
		err := send(ctx)
		p.wire.once(func(ctx context.Context, next func(context.Context) error) error {
			q.delete(t, q.a, "x")
			require.NoError(t, send(within(t)))
			return next(ctx)
		})
		return err
	})
	require.NoError(t, p.Update(within(t), nil, adders["read and written"](p)))
	v, _ := p.a.Load("x")
	require.Equal(t, 1, v)
}
