package profiling_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// A few kilobytes of a file can be millions of entries, each of which would take
// some hundred times its size.
func TestProfileBombs(t *testing.T) {
	before := profiling.LimitProfileMemory(8 << 20)
	defer profiling.LimitProfileMemory(before)
	s := newShelf(t)
	h := handler(t, profiling.Config{Runs: s})
	for name, entry := range map[string]string{
		"samples":   "\x12\x02\x10\x01",
		"mappings":  "\x1a\x00",
		"locations": "\x22\x00",
		"functions": "\x2a\x00",
		"strings":   "\x32\x00",
		"stacks":    "\x12\xff\x01\x0a\xfc\x01" + string(bytes.Repeat([]byte{1}, 252)),
		"labels":    "\x12\x80\x01" + string(bytes.Repeat([]byte("\x1a\x00"), 64)),
		"lines":     "\x22\x80\x01" + string(bytes.Repeat([]byte("\x22\x00"), 64)),
	} {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		const kind = "\x0a\x02\x08\x01\x32\x00\x32\x01a"
		_, err := z.Write([]byte(kind))
		require.NoError(t, err)
		_, err = z.Write(bytes.Repeat([]byte(entry), 1<<20/len(entry)))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		require.Less(t, buf.Len(), 200<<10)
		s.mu.Lock()
		s.profiles["old/bomb.pb.gz"] = buf.Bytes()
		s.mu.Unlock()
		w := request(h, "/debug/pprof/runs/old/bomb.pb.gz/top")
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, name)
		require.Contains(t, w.Body.String(), "it would take about", name)
	}
	require.Equal(t, http.StatusOK, request(h, "/debug/pprof/runs/old/begin.cpu.pb.gz/top").Code)

	// Those of programs are far from it.
	var buf bytes.Buffer
	require.NoError(t, pprof.Lookup("allocs").WriteTo(&buf, 0))
	z, err := gzip.NewReader(&buf)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Greater(t, profiling.Weigh(text), int64(len(text)))
	require.Less(t, profiling.Weigh(text), before/64)
	t.Logf("%d bytes weigh %d", len(text), profiling.Weigh(text))
}

// A counted shelf says how often it was asked for a profile.
type counted struct {
	*shelf
	asked atomic.Int32
}

func (c *counted) RunProfile(run, file string) ([]byte, error) {
	c.asked.Add(1)
	return c.shelf.RunProfile(run, file)
}

// Profiles are read when it is their turn to be shown, so those who wait take no
// memory.
func TestProfilesAreReadInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counted{shelf: newShelf(t)}
		h := profiling.Handler(profiling.Config{Runs: source})
		defer h.Close()
		release := profiling.HoldRenders(h)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if w := request(h, "/debug/pprof/runs/old/begin.cpu.pb.gz/top"); w.Code != http.StatusOK {
					panic(w.Body)
				}
			})
		}
		synctest.Wait()
		require.Zero(t, source.asked.Load())
		release()
		wg.Wait()
		require.EqualValues(t, 10, source.asked.Load())
	})
}
