package cli

import (
	"fmt"
	"io"
	"os"
)

// HandleSignals calls cancel at the first signal, upon which the run prints what
// it has, and exit at the second, at once. It does not return before.
func HandleSignals(signals <-chan os.Signal, cancel func(), stderr io.Writer, exit func(code int)) {
	<-signals
	cancel()
	fmt.Fprintln(stderr, "\nstopping; Ctrl-C again ends at once")
	<-signals
	exit(ExitInterrupted)
}
