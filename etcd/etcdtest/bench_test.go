package etcdtest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// BenchmarkOpen opens a replica of 100,000 records, which loads them, or begins with what another one has
// written.
func BenchmarkOpen(b *testing.B) {
	const n, each = 100_000, 100
	c, prefix := start(b, 1, 0), newPrefix()
	p := open(b, c, prefix, nil)
	var fill sync.WaitGroup
	for g := range 10 {
		fill.Go(func() {
			for i := g; i < n/each; i += 10 {
				if err := p.Update(within(b), func(tx mvcc.DBTx) error {
					for j := range each {
						p.a.In(tx).Set(fmt.Sprintf("%0100d", i*each+j), j)
					}
					return nil
				}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	fill.Wait()
	file, _ := saved(b, p)
	for name, replica := range map[string][]byte{"cold": nil, "warm": file} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				q := open(b, c, prefix, func(cfg *etcd.Config) {
					if replica != nil {
						cfg.Replica = bytes.NewReader(replica)
					}
				})
				require.Equal(b, n, q.a.Len())
				require.Equal(b, replica != nil, q.Stats().Warm == n)
				b.StopTimer()
				require.NoError(b, q.Close())
				b.StartTimer()
			}
		})
	}
	b.Logf("%d bytes", len(file))
}
