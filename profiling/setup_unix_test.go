//go:build unix

package profiling_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// The waits of a program are in reports of both sources, if it is set up in one of those ways that
// docs/profiling.md shows in which this package calls the program.
func TestReportsOfEachSetUp(t *testing.T) {
	again := func(t *testing.T, h *profiling.Service, work func()) string {
		planted.Again(t, work)
		return httpServer(t, h)
	}
	for name, setUp := range map[string]func(t *testing.T, work func()) (url string){
		"Handler and Wrap": func(t *testing.T, work func()) string {
			h := handler(t, profiling.Config{})
			mux := http.NewServeMux()
			mux.Handle("/debug/pprof/", h)
			mux.HandleFunc("GET /work", func(http.ResponseWriter, *http.Request) { work() })
			url := httpServer(t, h.Wrap(mux))
			planted.Again(t, func() {
				_, err := try(context.Background(), url+"/work") // until the test has ended
				if err != nil {
					t.Error(err)
				}
			})
			return url
		},
		"Labels": func(t *testing.T, work func()) string {
			labels := profiling.NewLabels("operation", "work")
			return again(t, handler(t, profiling.Config{}), func() { labels.Do(work) })
		},
		"a callback": func(t *testing.T, work func()) string {
			h := handler(t, profiling.Config{Health: func() error { work(); return nil }})
			return again(t, h, func() { request(h, "/healthz") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.SetBlockProfileRate(1)
			before := runtime.SetMutexProfileFraction(1)
			defer func() {
				runtime.SetBlockProfileRate(0)
				runtime.SetMutexProfileFraction(before)
			}()
			url := setUp(t, workThatWaits(t))
			locks := plantedWait{contention.Mutex, ".workLock"}
			receives := plantedWait{contention.ChanReceive, ".workReceive"}
			calls := plantedWait{contention.Syscall, ".workRead"}
			reportUntil(t, url, "mode=profiles&seconds=0.05", locks, receives)
			r := reportUntil(t, url, "mode=trace&seconds=0.05", locks, receives, calls)
			require.NotEmpty(t, r.LeftOut, "at least the sampler of the charts waits")
		})
	}
}

// workThatWaits returns work that waits for a lock, a channel and a system call.
func workThatWaits(t *testing.T) (work func()) {
	t.Helper()
	var mu sync.Mutex
	c := make(chan int)
	var pipe [2]int
	require.NoError(t, syscall.Pipe(pipe[:]))
	asks, stop := make(chan struct{}), make(chan struct{})
	var helper sync.WaitGroup
	helper.Go(func() { // lets the work wait for a millisecond at each place
		for {
			mu.Lock()
			select {
			case <-asks:
			case <-stop:
				return
			}
			time.Sleep(time.Millisecond)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			c <- 1
			time.Sleep(time.Millisecond)
			_, err := syscall.Write(pipe[1], []byte("x"))
			if err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		helper.Wait()
		syscall.Close(pipe[0])
		syscall.Close(pipe[1])
	})
	return func() {
		asks <- struct{}{}
		workLock(&mu)
		workReceive(c)
		workRead(pipe[0])
	}
}

//go:noinline
func workLock(mu *sync.Mutex) { mu.Lock(); defer mu.Unlock() }

//go:noinline
func workReceive(c chan int) { <-c }

//go:noinline
func workRead(pipe int) { syscall.Read(pipe, make([]byte, 1)) }
