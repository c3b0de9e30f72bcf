package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench/peers"
)

// Every peer is listed and measured, but for workloads that it cannot do.
func TestRun(t *testing.T) {
	engines := "mvcc"
	for _, p := range peers.Peers() {
		engines += "," + p.Name
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"run", "--workload=transfer,long-reader",
		"--engine=" + engines, "--threads=1,2", "--count=1", "--duration=2ms", "--warmup=0",
		"--http=off"}, &stdout, &stderr), &stderr)
	for _, p := range peers.Peers() {
		require.Contains(t, stdout.String(), "BenchmarkTransfer/engine="+p.Name+"/threads=2")
	}
	require.Contains(t, stdout.String(), "# peersbench run --workload=transfer,long-reader")

	stdout.Reset()
	require.Zero(t, run(t.Context(), []string{"list"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "phantoms")
	require.Equal(t, 2, run(t.Context(), []string{"run", "--engine=buntdb", "--workload=long-reader"},
		&stdout, &stderr))
	require.Contains(t, stderr.String(), "stops every writer")
}
