package losses

import (
	"bytes"
	"context"
	"errors"
	rtrace "runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// stop ends the look, as its timer does when nobody has looked for long.
func stop() { turn(time.Now().Add(2 * Reach)) }

// A poll counts votes in one key of a table.
type poll struct {
	*testing.T
	db       *mvcc.DB
	counters *mvcc.Map[string, int]
}

func newPoll(t *testing.T, opts *mvcc.Options) poll {
	db := mvcc.NewDB(opts)
	t.Cleanup(db.Close)
	t.Cleanup(stop)
	return poll{t, db, mvcc.NewTable[string, int](db, "counters", nil)}
}

func (p poll) vote() {
	opts := &mvcc.TxOptions{Name: "vote"}
	require.NoError(p, p.counters.Update(p.Context(), opts, func(tx mvcc.Tx[string, int]) error {
		n, _ := tx.Get("votes")
		tx.Set("votes", n+1)
		return nil
	}))
}

// tally is an Update without a name that loses so many attempts, each to a vote.
func (p poll) tally(lost int) {
	require.NoError(p, p.db.Update(p.Context(), nil, func(tx mvcc.DBTx) error {
		n, _ := p.counters.In(tx).Get("votes")
		if lost > 0 {
			lost--
			p.vote()
		}
		p.counters.In(tx).Set("votes", n)
		return nil
	}))
}

// M183: a report has table, key, line and winner of the attempts that were lost while somebody
// looks, from the Update after the first one on, and the trace has a note. Options.Observe and
// Around go on.
func TestLossesAreNamed(t *testing.T) {
	observed, around := 0, 0
	for name, opts := range map[string]*mvcc.Options{"alone": nil,
		"observed": {Observe: func(mvcc.Attempt) { observed++ },
			Around: func(ctx context.Context, _, _ string) (context.Context, func()) {
				around++
				return ctx, nil
			}}} {
		t.Run(name, func(t *testing.T) {
			p := newPoll(t, opts)
			p.tally(1)
			rows, since := Report(true)
			require.Empty(t, rows, "nobody looks")
			require.Zero(t, since)
			Look()
			p.tally(1) // after this one the maps are looked at
			before := map[string]uint64{}
			rows, _ = Report(true)
			for _, r := range rows {
				before[r.Who] = r.Lost
			}
			var trace bytes.Buffer
			require.NoError(t, rtrace.Start(&trace))
			p.tally(6)
			rtrace.Stop()
			require.Contains(t, trace.String(), "7 6 over one key of counters, to vote")
			rows, _ = Report(true)
			require.Len(t, rows, 1)
			r := rows[0]
			require.Regexp(t, `^the Update at losses_test.go:\d+ \(losses.poll.tally\)$`, r.Who)
			require.Equal(t, "counters", r.Table)
			require.EqualValues(t, 6, r.Lost-before[r.Who])
			require.GreaterOrEqual(t, r.Attempts, uint64(7))
			require.Less(t, r.Share(), 1.0)
			require.Positive(t, r.Took)
			require.Equal(t, []Share{{"a read changed", 1}}, r.Causes)
			require.Equal(t, []Share{{"votes", 1}}, r.Keys)
			require.Equal(t, "vote", r.Winners[0].Text)
			require.True(t, strings.HasSuffix(r.Calls[0].Func, "losses.poll.tally"), r.Calls[0].Func)
			rows, _ = Report(false)
			require.Regexp(t, `^#[0-9a-f]{8}$`, rows[0].Keys[0].Text, "keys are not shown")

			byHand := p.db.Begin(nil)
			defer byHand.Rollback()
			p.counters.In(byHand).Get("votes")
			p.vote()
			p.counters.In(byHand).Set("other", 1)
			require.ErrorIs(t, byHand.Commit(), mvcc.ErrConflict)
			rows, _ = Report(false)
			require.Len(t, rows, 2)
			require.Contains(t, rows[1].Who, "a commit by hand at losses_test.go:")
			require.Zero(t, rows[1].Attempts)
		})
	}
	require.Positive(t, observed)
	require.Positive(t, around)
}

// The error of a function, a conflict of another map, is no loss; neither is an Update that gives
// up.
func TestWhatIsNoLoss(t *testing.T) {
	p := newPoll(t, nil)
	Look()
	p.tally(1)
	p.tally(0)
	rows, _ := Report(false)
	lost := 0
	for _, r := range rows {
		lost += int(r.Lost)
	}
	elsewhere := &mvcc.ConflictError{Table: "elsewhere", Attempts: 3}
	err := p.db.Update(t.Context(), nil, func(mvcc.DBTx) error { return elsewhere })
	require.Equal(t, error(elsewhere), err)
	ctx, cancel := context.WithCancel(t.Context())
	err = p.db.Update(ctx, nil, func(tx mvcc.DBTx) error {
		p.counters.In(tx).Get("votes")
		p.vote()
		p.counters.In(tx).Set("votes", 0)
		cancel()
		return nil
	})
	require.True(t, errors.Is(err, context.Canceled) && errors.Is(err, mvcc.ErrConflict))
	rows, _ = Report(false)
	now := 0
	for _, r := range rows {
		now += int(r.Lost)
	}
	require.Equal(t, lost+1, now)
}

// M184: while nobody looks, and after somebody has, an Update allocates as before. While somebody
// does, one that wins at its first attempt allocates one more, with a name or without.
func TestNobodyLooks(t *testing.T) {
	p := newPoll(t, nil)
	anonymous := func() { p.tally(0) }
	p.vote()
	vote, tally := testing.AllocsPerRun(100, p.vote), testing.AllocsPerRun(100, anonymous)
	Look()
	p.tally(1)
	require.Equal(t, vote+1, testing.AllocsPerRun(1000, p.vote))
	require.Equal(t, tally, testing.AllocsPerRun(1000, anonymous), "most are not noted")
	rows, _ := Report(false)
	require.Empty(t, rows, "an Update that loses first is not looked at")
	p.tally(1)
	rows, _ = Report(false)
	require.Len(t, rows, 1)
	require.InDelta(t, 1000, rows[0].Attempts, 900)
	stop()
	p.vote() // it finds out
	require.Equal(t, vote, testing.AllocsPerRun(100, p.vote))
	rows, _ = Report(false)
	require.Empty(t, rows)
}

// The cost of a storm of conflicts over one key while nobody looks, and while somebody does.
func BenchmarkStorm(b *testing.B) {
	for _, looks := range []bool{false, true} {
		b.Run(map[bool]string{false: "nobody looks", true: "looked at"}[looks], func(b *testing.B) {
			defer stop()
			m := mvcc.New[int, int](nil)
			defer m.Close()
			if looks {
				Look()
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					m.Update(context.Background(), nil, func(tx mvcc.Tx[int, int]) error {
						n, _ := tx.Get(1)
						tx.Set(1, n+1)
						return nil
					})
				}
			})
			s := m.Stats()
			b.ReportMetric(float64(s.Conflicts)/float64(b.N), "conflicts/op")
		})
	}
}
