package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestSecondSignalEndsAtOnce(t *testing.T) {
	for sent, want := range map[os.Signal]int{os.Interrupt: ExitInterrupted,
		syscall.SIGTERM: ExitTerminated} {
		t.Run(sent.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { secondSignal(t, sent, want) })
		})
	}
}

func secondSignal(t *testing.T, sent os.Signal, want int) {
	signals := make(chan os.Signal)
	var stderr lines
	cancelled, code := false, -1
	var stop Stop
	go stop.Handle(signals, func() { cancelled = true }, &stderr, func(c int) { code = c })
	synctest.Wait()
	require.False(t, cancelled)
	signals <- sent
	synctest.Wait()
	require.True(t, cancelled)
	require.Contains(t, stderr.String(), "again")
	require.Equal(t, -1, code)
	signals <- sent
	synctest.Wait()
	require.Equal(t, want, code)
	require.Equal(t, want, stop.Code(ExitInterrupted))
	require.Equal(t, ExitViolated, stop.Code(ExitViolated))
}
