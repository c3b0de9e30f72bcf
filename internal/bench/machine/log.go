package machine

import (
	"context"
	"time"
)

// A Log knows the use of the machine of late. Its methods but Run are of one goroutine.
type Log struct {
	hiccups Hiccups
	notes   []note // the oldest first
}

// A note is a reading, with the longest hiccup since the one before.
type note struct {
	at     time.Time
	times  Times
	hiccup time.Duration
}

// notes is how many readings a log keeps. leastLog is the shortest time about which it says
// something: the system's accounts are too coarse for less.
const (
	notes    = 16
	leastLog = 500 * time.Millisecond
)

// Start measures hiccups until ctx ends.
func (l *Log) Start(ctx context.Context) { l.hiccups.Start(ctx) }

// Note takes a reading. Call it about once a second.
func (l *Log) Note() { l.add(note{time.Now(), Read(), l.hiccups.Worst()}) }

func (l *Log) add(n note) {
	if len(l.notes) == notes {
		l.notes = append(l.notes[:0], l.notes[1:]...)
	}
	l.notes = append(l.notes, n)
}

// Since returns the use of the machine since then, or since up to a second before.
func (l *Log) Since(then time.Time) Usage {
	l.Note()
	return l.since(then)
}

func (l *Log) since(then time.Time) Usage {
	last := l.notes[len(l.notes)-1]
	if least := last.at.Add(-leastLog); then.After(least) {
		then = least
	}
	i, worst := len(l.notes)-1, time.Duration(0)
	for ; i > 0 && l.notes[i].at.After(then); i-- {
		worst = max(worst, l.notes[i].hiccup)
	}
	u := Between(l.notes[i].times, last.times, last.at.Sub(l.notes[i].at))
	u.Hiccup = worst
	return u
}
