package charts

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	busy, steal, total := parseStat([]byte("cpu  100 20 30 400 50 6 7 80 90 9\ncpu0 1 2 3\n"))
	require.Equal(t, 163.0, busy, "user, nice, system, interrupts; guests are in user")
	require.Equal(t, 80.0, steal)
	require.Equal(t, 693.0, total)
	for _, text := range []string{"", "intr 1 2 3", "cpu 1 2 3", "cpu 1 2 3 4 5 6 x 8"} {
		busy, steal, total = parseStat([]byte(text))
		require.True(t, math.IsNaN(busy) && math.IsNaN(steal) && math.IsNaN(total), text)
	}
}

// What the system tells of this process grows while it works.
func TestReadCPU(t *testing.T) {
	before := readCPU()
	if math.IsNaN(before.process) || math.IsNaN(before.total) {
		t.Skip("this system does not tell")
	}
	after := before
	for after.process <= before.process || after.busy <= before.busy {
		after = readCPU()
	}
	require.Less(t, after.busy, after.total)
	require.LessOrEqual(t, before.total, after.total)
}

// The longest is kept until it is asked for, and nobody waits for the meter.
func TestHiccups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(hiccups)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); h.run(ctx) }()
		time.Sleep(time.Second)
		require.True(t, math.IsNaN(h.worst()), "a machine on which nothing is late")
		h.longest.Store(int64(3 * time.Millisecond))
		time.Sleep(time.Second)
		require.Equal(t, 0.003, h.worst())
		require.True(t, math.IsNaN(h.worst()))
		cancel()
		<-done
	})
}

// On a real clock somebody is always late by a little.
func TestHiccupsAreSeen(t *testing.T) {
	h := new(hiccups)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go h.run(ctx)
	require.Eventually(t, func() bool { return h.worst() > 0 }, time.Minute, time.Millisecond)
}
