package capture

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"runtime/trace"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// Bounds of execution traces from which reports are made, and of execution traces to download.
const (
	MaxTrace        = 10 * time.Second
	maxTraceBytes   = 32 << 20
	maxDownloadable = 64 << 20
)

// Trace answers with an execution trace of length d, which ends early if it grows too large.
func Trace(w http.ResponseWriter, r *http.Request, d time.Duration) error {
	web.AllowTime(w, r, d)
	text, err := takeTrace(r.Context(), d, maxDownloadable)
	if err != nil {
		return err
	}
	web.Attach(w, "trace")
	w.Write(text.Bytes())
	return nil
}

// tracedWaits reports on contention by an execution trace of length d, which
// ends early if it grows too large.
func tracedWaits(ctx context.Context, d time.Duration) (*contention.Report, error) {
	start := time.Now()
	text, err := takeTrace(ctx, d, maxTraceBytes)
	if err != nil {
		return nil, err
	}
	size := text.Len()
	r, err := contention.FromTrace(text)
	if err != nil {
		return nil, err
	}
	r.Start, r.Bytes, r.Truncated = start, size, size >= maxTraceBytes
	return r, nil
}

// errFull is the reason of a trace that ended early because it was large. It can still be read.
var errFull = errors.New("the trace is large enough")

// takeTrace takes an execution trace for d, or until it has most bytes. One goroutine of the
// runtime writes all traces of the process: its writes must not wait for a client.
func takeTrace(ctx context.Context, d time.Duration, most int) (*bytes.Buffer, error) {
	leave, err := traceGate.enter(d)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	buf := &traceBuffer{most: most, full: func() { end(errFull) }}
	if err := trace.Start(buf); err != nil {
		return nil, web.Refuse(http.StatusConflict,
			"the program itself is taking an execution trace: %v", err)
	}
	err = sleep(ctx, d)
	trace.Stop()
	if err != nil && !errors.Is(context.Cause(ctx), errFull) {
		return nil, err
	}
	return &buf.Buffer, nil
}

// A traceBuffer stores a trace, and signals when the trace is large enough. It also stores the
// bytes that the tracer writes until it has stopped: a trace without its end cannot be read.
type traceBuffer struct {
	bytes.Buffer
	most int
	full func()
}

// Write implements [io.Writer]; only the tracer's goroutine calls it.
func (b *traceBuffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if b.Len() >= b.most {
		b.full()
	}
	return n, err
}
