//go:build unix

package slow_test

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

//go:noinline
func plantedRead(fd int) { syscall.Read(fd, make([]byte, 1)) }

func TestSystemCall(t *testing.T) {
	r := explain(t, func() (op, done func()) {
		var p [2]int
		require.NoError(t, syscall.Pipe(p[:]))
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(plantedTime)
			syscall.Write(p[1], []byte{1})
		})
		return func() { plantedRead(p[0]) }, func() {
			wg.Wait()
			syscall.Close(p[0])
			syscall.Close(p[1])
		}
	}, func(r *slow.Report) bool { return isTop(r, contention.Syscall, ".plantedRead") })
	require.Equal(t, r.Syscall, r.Waits[0].Total)
	require.True(t, strings.Contains(r.Verdict, "in system calls at syscall_test.go:"), r.Verdict)
}
