package push

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/protobuf/encoding/protowire"
)

// A parcel is what one request carries.
type parcel struct {
	what   string // in words
	url    string
	header map[string]string
	body   []byte
}

// A target sends to one receiver, and has what waits for it. Its methods may be called from several
// goroutines.
type target struct {
	name   string
	cfg    Target
	client *http.Client
	most   time.Duration // of a request
	limit  int           // bytes, of all that waits
	otlp   bool
	log    *slog.Logger
	pace   *backoff.ExponentialBackOff // of failures in a row; under mu

	mu      sync.Mutex
	waiting []parcel
	size    int
	closing bool
	wake    chan struct{} // holds one value if there is news
	until   time.Time     // nothing is sent before
	asked   bool          // by the receiver
	failing int           // failures in a row
	stats   TargetStats
	unsaid  uint64    // of those that were dropped
	said    time.Time // when the log was told of drops
}

// mayWait is the longest time for which a receiver can ask.
const mayWait = 10 * time.Minute

func newTarget(name string, t Target, c Config) *target {
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = c.least, 60*c.least
	pace.Reset()
	return &target{name: name, cfg: t, client: c.Client, most: c.most, limit: c.queue,
		otlp: t.URL != c.Pyroscope.URL, log: c.Log.With("target", name), pace: pace,
		wake: make(chan struct{}, 1)}
}

// TargetStats count the requests to one target.
type TargetStats struct {
	Sent     uint64 // that the receiver has taken
	Failed   uint64 // attempts
	Dropped  uint64 // that will not be sent again: refused, without room, or left when it was closed
	Rejected uint64 // points or profiles of those sent that the receiver says it did not take
	Waiting  int    // that will be
}

// A refusal is an answer of a receiver that is no success.
type refusal struct {
	status string
	text   string
	again  bool          // it may be tried again
	after  time.Duration // and not before
}

// Error implements error.
func (r *refusal) Error() string { return r.status + ": " + r.text }

// post sends a parcel once. rejected is how much of it the receiver did not take, as it says.
func (t *target) post(ctx context.Context, p parcel) (rejected uint64, why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.most)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(p.body))
	if err != nil {
		return 0, "", err
	}
	for _, headers := range []map[string]string{p.header, t.cfg.Headers} {
		for name, value := range headers {
			r.Header.Set(name, value)
		}
	}
	res, err := t.client.Do(r)
	if err != nil {
		return 0, "", told(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	switch {
	case err != nil:
		return 0, "", err
	case res.StatusCode/100 == 2 && t.otlp:
		rejected, why = partial(body)
		return rejected, why, nil
	case res.StatusCode/100 == 2:
		return 0, "", nil
	}
	return 0, "", &refusal{status: res.Status, text: cmp.Or(elsewhere(res), firstLine(body)),
		again: t.again(res.StatusCode), after: retryAfter(res.Header.Get("Retry-After"))}
}

// again reports whether that answer is one after which to try again. OTLP has a list.
func (t *target) again(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return !t.otlp && (status/100 == 5 || status == http.StatusRequestTimeout)
}

// retryAfter reads the header, which has seconds or a date.
func retryAfter(text string) time.Duration {
	if s, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(s, 0), int(mayWait/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), mayWait)
	}
	return 0
}

// partial reads what an answer of OTLP says of what was not taken: in its field 1 the field 1 is a
// number, and the field 2 says why, whatever the signal.
func partial(body []byte) (rejected uint64, why string) {
	inner, _ := field(body, 1)
	_, rejected = field(inner, 1)
	text, _ := field(inner, 2)
	return rejected, string(text)
}

// field returns a field of a message, nothing if there is none.
func field(message []byte, number protowire.Number) (text []byte, value uint64) {
	for len(message) > 0 {
		num, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return text, value
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(num, kind, message); n < 0 {
			return text, value
		}
		switch {
		case num == number && kind == protowire.BytesType:
			text, _ = protowire.ConsumeBytes(message)
		case num == number && kind == protowire.VarintType:
			value, _ = protowire.ConsumeVarint(message)
		}
		message = message[n:]
	}
	return text, value
}

// send sends a parcel once and notes how it went. done tells that there is no more to do with it.
func (t *target) send(ctx context.Context, p parcel) (done bool, err error) {
	rejected, why, err := t.post(ctx, p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.stats.Sent++
		t.stats.Rejected += rejected
		if rejected > 0 || why != "" {
			t.log.Warn("push: the receiver has not taken all", "of", p.what, "rejected", rejected,
				"why", why)
		}
		if t.failing > 0 {
			t.log.Info("push: it works again", "failures", t.failing)
		}
		t.failing = 0
		t.pace.Reset()
		return true, nil
	}
	t.stats.Failed++
	answer, answered := errors.AsType[*refusal](err)
	if answered && !answer.again {
		t.log.Warn("push: refused", "of", p.what, "error", err)
		t.drop(1)
		return true, fmt.Errorf("push: %s: %w", t.name, err)
	}
	if t.failing++; t.failing == 1 && ctx.Err() == nil {
		t.log.Warn("push: cannot send, will try again", "of", p.what, "error", err)
	}
	wait := t.pace.NextBackOff()
	t.asked = answered && answer.after > 0
	if t.asked {
		wait = max(wait, answer.after)
	}
	t.until = time.Now().Add(wait)
	return false, fmt.Errorf("push: %s: %w", t.name, err)
}

// drop counts what was dropped, and says so once a minute. mu is held.
func (t *target) drop(n uint64) {
	t.stats.Dropped += n
	t.unsaid += n
	if n > 0 && (t.closing || time.Since(t.said) >= time.Minute) {
		t.log.Warn("push: dropped", "parcels", t.unsaid, "since the start", t.stats.Dropped)
		t.unsaid, t.said = 0, time.Now()
	}
}

// ready reports whether the receiver may be sent to.
func (t *target) ready() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !time.Now().Before(t.until)
}

// add has a parcel wait for its turn. If there is no room the oldest give way.
func (t *target) add(p parcel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting, t.size = append(t.waiting, p), t.size+len(p.body)
	t.trim()
	t.tell()
}

// trim drops the oldest as long as there is no room. mu is held.
func (t *target) trim() {
	old := 0
	for ; t.size > t.limit; old++ {
		t.size -= len(t.waiting[old].body)
	}
	t.waiting = t.waiting[old:]
	t.drop(uint64(old))
}

// tell wakes run.
func (t *target) tell() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// close says that nothing more will be added.
func (t *target) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
	t.tell()
}

// take returns the parcel to be sent now, or how long to wait for it, which news may end: for ever
// if there is none. Once the target is closed nothing is waited for, except what the receiver has
// asked for: then all that is left is given up.
func (t *target) take() (p parcel, wait time.Duration, end bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait = time.Until(t.until)
	switch {
	case len(t.waiting) == 0:
		return p, forever, t.closing, nil
	case t.closing && wait > 0 && t.asked:
		return p, 0, true, t.giveUp(fmt.Errorf("the receiver has asked to wait for %v", wait))
	case wait > 0 && !t.closing:
		return p, wait, false, nil
	}
	p = t.waiting[0]
	t.waiting, t.size = t.waiting[1:], t.size-len(p.body)
	return p, 0, false, nil
}

const forever = time.Duration(1<<63 - 1)

// putBack has a parcel that could not be sent wait on, or all of them given up if the target is
// closed.
func (t *target) putBack(p parcel, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting, t.size = append([]parcel{p}, t.waiting...), t.size+len(p.body)
	if t.closing {
		return t.giveUp(err)
	}
	t.trim()
	return nil
}

// giveUp drops all that waits. mu is held.
func (t *target) giveUp(err error) error {
	n := len(t.waiting)
	t.waiting, t.size = nil, 0
	t.drop(uint64(n))
	return fmt.Errorf("push: %s: %d not sent: %w", t.name, n, err)
}

// run sends what waits until the target is closed and nothing does. From then on each is tried
// once, and the first failure ends it. The end of ctx ends what is being sent.
func (t *target) run(ctx context.Context) error {
	for {
		p, wait, end, err := t.take()
		if end {
			return err
		}
		if wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-t.wake:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		if done, err := t.send(ctx, p); !done {
			if err := t.putBack(p, err); err != nil {
				return err
			}
		}
	}
}

// now returns what was sent so far.
func (t *target) now() TargetStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.Waiting = len(t.waiting)
	return s
}
