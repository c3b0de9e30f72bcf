package cli

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestSecondSignalEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		var stderr lines
		cancelled, code := false, -1
		go HandleSignals(signals, func() { cancelled = true }, &stderr, func(c int) { code = c })
		synctest.Wait()
		require.False(t, cancelled)
		signals <- os.Interrupt
		synctest.Wait()
		require.True(t, cancelled)
		require.Contains(t, stderr.String(), "again")
		require.Equal(t, -1, code)
		signals <- os.Interrupt
		synctest.Wait()
		require.Equal(t, ExitInterrupted, code)
	})
}
