package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/soak"
)

// verifyProgress tells which round is running.
type verifyProgress struct {
	*statusLine
	duration time.Duration
	round    soak.Round // under the line's lock
	so       soak.Totals
}

// newVerifyProgress starts reporting on w.
func newVerifyProgress(w io.Writer, interval, duration time.Duration) *verifyProgress {
	p := &verifyProgress{statusLine: newStatusLine(w), duration: duration}
	p.every(interval, p.report)
	return p
}

// start says that a round begins, and what was checked before it.
func (p *verifyProgress) start(r soak.Round, so soak.Totals) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round, p.so = r, so
	if p.terminal || r.Number == 1 {
		p.report()
	}
}

// report says what is running. p.mu is held.
func (p *verifyProgress) report() {
	if p.round.Number == 0 {
		return
	}
	elapsed := time.Since(p.started).Truncate(time.Second)
	line := fmt.Sprintf("[%v/%v] %s transactions checked", elapsed, p.duration,
		brief.Count(p.so.Transactions))
	if n := p.so.Violations; n > 0 {
		line += fmt.Sprintf(", %d rounds VIOLATED", n)
	}
	p.show(line + p.dim("; "+p.round.String()))
}
