package etcdtest

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A meter counts the requests to commit of a process, and the events that its watch gets, by what
// their keys are, which the letters after the prefix say.
type meter struct {
	prefix         string
	mu             sync.Mutex
	cmps, puts, at map[string]int
}

func (m *meter) letter(key []byte) string {
	letter, _, _ := strings.Cut(strings.TrimPrefix(string(key), m.prefix), "/")
	return letter
}

func (m *meter) sent(_ context.Context, req, _ any, send func() error) error {
	if txn, ok := req.(*etcdserverpb.TxnRequest); ok && !elects(req) {
		m.mu.Lock()
		for _, c := range txn.Compare {
			m.cmps[m.letter(c.Key)]++
		}
		for _, op := range txn.Success {
			m.puts[m.letter(op.GetRequestPut().GetKey())]++
		}
		m.mu.Unlock()
	}
	return send()
}

func (m *meter) came(msg any) {
	if resp, ok := msg.(*etcdserverpb.WatchResponse); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, e := range resp.Events {
			m.at[m.letter(e.Kv.Key)]++
		}
	}
}

// since returns what was counted, and begins anew.
func (m *meter) since() (cmps, puts, events map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cmps, puts, events = maps.Clone(m.cmps), maps.Clone(m.puts), maps.Clone(m.at)
	m.cmps, m.puts, m.at = map[string]int{}, map[string]int{}, map[string]int{}
	return cmps, puts, events
}

// What a commit sends, and what each process is told of it: nobody is told of its slot, nor of the
// guard of deletions.
func TestCostOfCommit(t *testing.T) {
	t.Parallel()
	m := &meter{prefix: newPrefix()}
	m.since()
	p := open(t, shared(t), m.prefix, func(cfg *etcd.Config) {
		unary(cfg, m.sent)
		received(cfg, m.came)
	})
	p.set(t, p.a, "x", 10)
	p.set(t, p.a, "y", 10)
	type counts = map[string]int
	for name, run := range map[string]struct {
		fn                 func(in mvcc.Tx[string, int])
		cmps, puts, events counts
	}{
		"transfer": {func(in mvcc.Tx[string, int]) {
			x, _ := in.Get("x")
			y, _ := in.Get("y")
			in.Set("x", x-1)
			in.Set("y", y+1)
		}, counts{"a": 1, "c": 1, "g": 1, "t": 2}, counts{"a": 1, "g": 1, "t": 2}, counts{"g": 1, "t": 2}},
		"blind": {func(in mvcc.Tx[string, int]) { in.Set("z", 1) },
			counts{"a": 1, "c": 1, "g": 1}, counts{"a": 1, "g": 1, "t": 1}, counts{"g": 1, "t": 1}},
		"inserted and deleted": {func(in mvcc.Tx[string, int]) {
			in.Get("new")
			in.Set("new", 1)
			in.Delete("gone")
		}, counts{"a": 1, "c": 1, "g": 1, "t": 1}, counts{"a": 1, "g": 1, "d": 1, "t": 1, "": 1}, counts{"g": 1, "t": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			m.since()
			p.update(t, func(tx mvcc.DBTx) {
				run.fn(p.a.In(tx))
			})
			cmps, puts, events := m.since()
			require.Equal(t, run.cmps, cmps)
			require.Equal(t, run.puts, puts)
			require.Equal(t, run.events, events)
		})
	}
}
