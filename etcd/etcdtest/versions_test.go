package etcdtest

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var older = flag.String("older", "", "the path of a program etcd of an older version, for TestUpgrade")

// Three replicas count over a cluster of an older version, while one member after the other gets the
// present one. Nothing is lost, nor done twice.
func TestUpgrade(t *testing.T) {
	if *older == "" {
		t.Skip("-older is not given")
	}
	c, err := Start(within(t), 3, t.TempDir(), Options{Server: *older})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	prefix := newPrefix()
	var commits atomic.Uint64
	var all []*process
	var work sync.WaitGroup
	var over atomic.Bool
	for range 3 {
		p := open(t, c, prefix, nil)
		all = append(all, p)
		for kind := range adders {
			work.Go(func() {
				for ; !over.Load(); commits.Add(1) {
					if err := p.Update(within(t), nil, adders[kind](p)); err != nil {
						t.Errorf("%s: %v", kind, err)
					}
				}
			})
		}
	}
	progress := func() {
		until := commits.Load() + 30
		require.Eventually(t, func() bool { return commits.Load() >= until }, patience, time.Millisecond)
	}
	versions := func() (list []string) {
		client := dial(t, c)
		for _, endpoint := range c.Endpoints() {
			status, err := client.Status(within(t), endpoint)
			require.NoError(t, err)
			list = append(list, status.Version)
		}
		return list
	}
	t.Log(versions())
	for i := range 3 {
		progress()
		require.NoError(t, c.Replace(i, ""))
		require.NoError(t, c.Wait(within(t)))
		progress()
		t.Log(versions())
	}
	over.Store(true)
	work.Wait()
	for _, p := range all {
		_, err := p.Sync(within(t))
		require.NoError(t, err)
		v, _ := p.a.Load("x")
		require.EqualValues(t, commits.Load(), v)
		t.Logf("%+v", p.Stats())
	}
}
