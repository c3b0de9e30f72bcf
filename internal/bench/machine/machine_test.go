package machine

import (
	"context"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// watchdog bounds waits that end by themselves unless something is wrong.
const watchdog = time.Minute

func TestParseStat(t *testing.T) {
	parse := func(text string) (s Times) {
		s.Busy, s.Steal, s.Total = math.NaN(), math.NaN(), math.NaN()
		s.parse([]byte(text))
		return s
	}
	s := parse("cpu  100 20 30 400 50 6 7 80 90 9\ncpu0 1 2 3\ncpu1 1 2 3\nintr 1 2\ncpu7")
	require.Equal(t, 163.0, s.Busy, "user, nice, system, interrupts; guests are in user")
	require.Equal(t, 80.0, s.Steal)
	require.Equal(t, 693.0, s.Total)
	require.Equal(t, 2, s.Processors)
	for _, text := range []string{"", "intr 1 2 3", "cpu 1 2 3", "cpu 1 2 3 4 5 6 x 8"} {
		s := parse(text)
		require.True(t, math.IsNaN(s.Busy) && math.IsNaN(s.Steal) && math.IsNaN(s.Total), text)
		require.Zero(t, s.Processors)
	}
}

// The system's figures of this process grow while it works.
func TestRead(t *testing.T) {
	before := Read()
	if math.IsNaN(before.Process) || math.IsNaN(before.Total) {
		t.Skip("this system does not tell")
	}
	after := before
	for after.Process <= before.Process || after.Busy <= before.Busy {
		after = Read()
	}
	require.Less(t, after.Busy, after.Total)
	require.LessOrEqual(t, before.Total, after.Total)
	require.Positive(t, after.Processors)
}

// The longest is kept until it is asked for, and the meter does not wait.
func TestHiccups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(Hiccups)
		ctx, cancel := context.WithCancel(t.Context())
		h.Start(ctx)
		time.Sleep(time.Second)
		require.Zero(t, h.Worst(), "a machine on which nothing is late")
		h.longest.Store(int64(3 * time.Millisecond))
		time.Sleep(time.Second)
		require.Equal(t, 3*time.Millisecond, h.Worst())
		require.Zero(t, h.Worst())
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		h.Start(ctx) // before the last tick of the other one
		time.Sleep(10 * hiccupEvery)
		require.NotNil(t, h.begun.Load())
		cancel()
		time.Sleep(2 * hiccupEvery)
		require.Nil(t, h.begun.Load())
	})
}

// A meter that has not woken yet is late: it does not say that nothing was.
func TestHiccupThatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(Hiccups)
		begun := time.Now()
		h.begun.Store(&begun) // as if it had set its timer, and could not run since
		time.Sleep(hiccupEvery + 50*time.Millisecond)
		require.Equal(t, 50*time.Millisecond, h.Worst())
		time.Sleep(time.Second)
		require.Equal(t, 1050*time.Millisecond, h.Worst())
	})
}

// On a real clock a goroutine is always late by a little. Nothing goes on once the watching has
// ended.
func TestWatch(t *testing.T) {
	require.Eventually(t, func() bool {
		end := Watch()
		time.Sleep(2 * hiccupEvery)
		u := end()
		return u.Hiccup > 0 && u.For >= 2*hiccupEvery
	}, watchdog, time.Millisecond)
}

// A reading has the figures of a machine with two processors after so many milliseconds.
func reading(process, busy, steal, total float64) Times {
	return Times{
		Process:    process / 1000,
		Busy:       busy / 10,
		Steal:      steal / 10,
		Total:      total / 10,
		Processors: 2,
	}
}

func TestBetween(t *testing.T) {
	before := Times{Process: 7, Busy: 100, Steal: 10, Total: 1000, Processors: 2}
	plus := func(process, busy, steal, total float64) Times {
		r := reading(process, busy, steal, total)
		return Times{7 + r.Process, 100 + r.Busy, 10 + r.Steal, 1000 + r.Total, 2, 0}
	}
	u := Between(before, plus(1000, 1600, 200, 2000), time.Second)
	require.True(t, u.Known)
	require.InDelta(t, 0.5, u.Process, 1e-9)
	require.InDelta(t, 0.3, u.Others, 1e-9)
	require.InDelta(t, 0.1, u.Steal, 1e-9)
	require.Equal(
		t,
		"of its processors this program had 50 %, others 30 %, the host kept back 10 %; nothing woke "+
			"late",
		u.String(),
	)

	// The accounts do not fit together to the last.
	u = Between(before, plus(2020, 1990, 0, 2000), time.Second)
	most := min(float64(runtime.GOMAXPROCS(0))/2, 1)
	require.Equal(t, Usage{For: time.Second, Known: true, Process: 1, Most: most}, u)

	// Nine ticks for each processor say nothing, nor does a system without accounts.
	require.Equal(
		t,
		Usage{For: 90 * time.Millisecond},
		Between(before, plus(0, 180, 0, 180), 90*time.Millisecond),
	)
	u = Between(Times{Total: math.NaN()}, Times{Total: math.NaN()}, time.Second)
	require.Equal(t, Usage{For: time.Second}, u)
	require.Equal(t, "nothing woke late", u.String())
	require.False(t, Between(before, before, 0).Known)
}

// The time others took is noise if it was enough, and if the program could have wanted it.
func TestNoise(t *testing.T) {
	const sample = 200 * time.Millisecond
	for _, c := range []struct {
		usage Usage
		noise string
	}{
		{Usage{For: sample, Known: true, Process: 1}, ""},
		{Usage{For: sample, Known: true, Process: 0.94, Others: 0.06}, ""},
		{Usage{For: sample, Known: true, Process: 0.5, Others: 0.3}, ""}, // a fifth was to be had
		{Usage{For: sample, Known: true, Process: 0.7, Others: 0.3},
			"other programs had 30 % of the processors"},
		{Usage{For: sample, Known: true, Process: 0.5, Others: 0.45},
			"other programs had 45 % of the processors"},
		{Usage{For: sample, Others: 1}, ""}, // not known
		{Usage{For: sample, Known: true, Process: 0.5, Steal: 0.12},
			"the host kept back 12 % of the processors"},
		{Usage{For: sample, Known: true, Process: 0.97, Steal: 0.03}, ""},
		{Usage{For: sample, Steal: 1}, ""},
		{Usage{For: sample, Hiccup: 30 * time.Millisecond}, ""}, // the program's own goroutines do that
		{Usage{For: sample, Hiccup: 50 * time.Millisecond}, "a goroutine woke 50.0 ms late"},
		{Usage{For: time.Second, Hiccup: 50 * time.Millisecond}, ""}, // a twentieth
		// One that had half of the processors, all that it can have, was late by its own doing.
		{Usage{For: sample, Known: true, Process: 0.48, Most: 0.5, Hiccup: 90 * time.Millisecond}, ""},
		{Usage{For: sample, Known: true, Process: 0.48, Most: 1, Hiccup: 90 * time.Millisecond},
			"a goroutine woke 90.0 ms late"},
		{
			Usage{For: sample, Known: true, Process: 0.3, Others: 0.5, Steal: 0.2, Most: 1,
				Hiccup: time.Second},
			"other programs had 50 % of the processors, the host kept back 20 % of the processors, a " +
				"goroutine woke 1.00 s late",
		},
	} {
		require.Equal(t, c.noise, c.usage.Noise(), "%v", c.usage)
	}
}

// A log has the usage between the reading before a moment and the last one.
func TestLog(t *testing.T) {
	l, begin := new(Log), time.Now()
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	busy := 0.0
	add := func(ms int, others float64, hiccup time.Duration) {
		busy += others
		l.add(note{at(ms), reading(0, busy, 0, 2*float64(ms)), hiccup})
	}
	add(0, 0, time.Hour)
	require.Equal(t, Usage{}, l.since(at(-10)), "it has but begun")
	add(1000, 2000, 5*time.Millisecond)
	add(2000, 0, 3*time.Millisecond)
	add(2100, 0, 4*time.Millisecond)
	most := min(float64(runtime.GOMAXPROCS(0))/2, 1)
	require.Equal(
		t,
		Usage{For: 1100 * time.Millisecond, Known: true, Most: most, Hiccup: 4 * time.Millisecond},
		l.since(at(1500)),
	)
	require.Equal(t, 1100*time.Millisecond, l.since(at(2099)).For, "not of a tenth of a second alone")
	u := l.since(at(999))
	require.Equal(t, 2100*time.Millisecond, u.For)
	require.Equal(t, 5*time.Millisecond, u.Hiccup)
	require.InDelta(t, 2000.0/4200, u.Others, 1e-4)

	for i := range 3 * notes {
		add(3000+1000*i, 0, 0)
	}
	require.Len(t, l.notes, notes)
	require.Equal(t, (notes-1)*time.Second, l.since(begin).For, "as far as it reaches back")
}
