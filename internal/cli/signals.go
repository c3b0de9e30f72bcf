package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Main is the main function of a program that does run, which is told to end by a signal. The process
// ends with the exit code that run returns.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var stop Stop
	go stop.Handle(signals, cancel, os.Stderr, os.Exit)
	os.Exit(stop.Code(run(ctx, os.Args[1:], os.Stdout, os.Stderr)))
}

// A Stop is how a program is told to end.
type Stop struct{ terminated atomic.Bool }

// Handle calls cancel at the first signal, upon which the run prints what it has, and exit at
// the second, at once. It does not return before.
func (s *Stop) Handle(
	signals <-chan os.Signal, cancel func(), stderr io.Writer, exit func(code int),
) {
	// must precede: after cancel the run returns, and Code asks
	s.terminated.Store(<-signals == syscall.SIGTERM)
	line := onScreen.Load() // likewise: the line ends with the run
	cancel()
	const stopping = "stopping; Ctrl-C again ends at once"
	if line != nil {
		go line.note(stopping) // drawing may be slow, and the second signal must not wait for it
	} else {
		fmt.Fprintln(stderr, "\n"+stopping)
	}
	<-signals
	exit(s.Code(ExitInterrupted))
}

// Code returns the exit code of a run that has returned code: after SIGTERM it is another one than
// after Ctrl-C.
func (s *Stop) Code(code int) int {
	if code == ExitInterrupted && s.terminated.Load() {
		return ExitTerminated
	}
	return code
}
