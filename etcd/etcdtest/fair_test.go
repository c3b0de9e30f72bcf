package etcdtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
)

// One election is enough for all tables.
func TestOneElection(t *testing.T) {
	t.Parallel()
	c, prefix := shared(t), newPrefix()
	s := etcd.NewSchema(nil)
	var tables []*etcd.Table[string, int]
	for i := range 3 {
		tables = append(tables, etcd.NewTable[string, int](s, fmt.Sprint("t", i), nil))
		tables[i].Expire(func(string, int) time.Time { return time.Unix(1, 0) })
	}
	p, err := tryOpen(t, c, prefix, func(cfg *etcd.Config) { cfg.Schema = s })
	require.NoError(t, err)
	defer p.Close()
	for i, table := range tables {
		p.set(t, table, "x", 1)
		for ctx := within(t); table.Len() > 0; time.Sleep(10 * time.Millisecond) {
			require.NoError(t, ctx.Err(), i)
		}
	}
	require.Len(t, kept(t, c, prefix+"e/"), 1)
}
