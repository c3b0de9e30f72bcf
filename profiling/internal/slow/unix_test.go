//go:build unix

package slow_test

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// plantedStop runs until the system has not run it for most of a while, which follows stop: maybe
// before stop returns.
//
//go:noinline
func plantedStop(stop func(), least time.Duration) {
	last := time.Now()
	deadline := last.Add(watchdog)
	for stop(); ; {
		now := time.Now()
		if now.Sub(last) > least || now.After(deadline) {
			return
		}
		last = now
	}
}

// A program that the system stopped was running for Go's scheduler. The report says that it was
// not on a processor.
func TestStoppedBySystem(t *testing.T) {
	const stop = 300 * time.Millisecond
	r := explain(t, func() (op, done func()) {
		script := fmt.Sprintf("read go; kill -STOP %d; sleep %v; kill -CONT %[1]d", os.Getpid(),
			stop.Seconds())
		cmd := exec.Command("sh", "-c", script)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return func() {
			plantedStop(func() { require.NoError(t, in.Close()) }, stop*3/4)
		}, func() { require.NoError(t, cmd.Wait()) }
	}, func(r *slow.Report) bool { off, _ := r.Off(); return off > r.Seen/2 })
	require.GreaterOrEqual(t, r.Unbroken, stop/2)
	require.Regexp(t, `not on a processor`, r.Verdict)
	require.NotContains(t, r.Verdict, "A CPU profile")
}

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
	require.Contains(t, r.Verdict, "in system calls at unix_test.go:")
}
