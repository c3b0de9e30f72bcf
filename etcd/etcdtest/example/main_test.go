package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd/etcdtest"
)

func TestMain(m *testing.M) {
	etcdtest.Main()
	m.Run()
}

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out, options{duration: 5 * time.Second, kill: time.Second}))
	require.Contains(t, out.String(), "is killed")
	require.Contains(t, out.String(), "  100000")
}
