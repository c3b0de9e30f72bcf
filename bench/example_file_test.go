package bench

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The example of docs/workloads.md runs.
func TestExampleOfTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/workloads.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(doc), "```json\n")
	require.True(t, ok)
	text, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	w := fileWorkload(t, text)
	require.Equal(t, "bank", w.Name)
	for _, name := range []string{"mvcc", "rwmutex", "mutex"} {
		e, _ := EngineByName(name)
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, Seed: 1,
			AuditInterval: time.Millisecond})
		require.Equal(t, Snapshot, tr.config.Isolation)
		m := runOps(t, tr, 5_000)
		require.NoError(t, tr.Verify())
		require.Equal(t, "transfer", m.Operations[0].Name)
		require.InDelta(t, 1_500, m.Operations[0].Ops, 200)
	}
	for _, f := range fileWorkloads() {
		require.Contains(t, string(doc), "`"+f.Name[:min(len(f.Name), 4)], f.Name)
	}
}
