package slow

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/exp/trace"
)

// Lost counts the attempts of those transactions of an operation that lost at least one.
type Lost struct {
	Attempts int    `json:"attempts"`
	Lost     int    `json:"lost"`
	Over     string `json:"over"` // which keys, and to whom, of the transaction that lost most

	most int        // it has lost so many
	at   trace.Time // its end
}

// parseLost reads a note of package losses.
func parseLost(at trace.Time, note string) (l Lost) {
	if fields := strings.SplitN(note, " ", 3); len(fields) == 3 {
		l.Attempts, _ = strconv.Atoi(fields[0])
		l.Lost, _ = strconv.Atoi(fields[1])
		l.Over, l.most = fields[2], l.Lost
	}
	l.at = at
	return l
}

// add adds the attempts of another transaction or operation.
func (l *Lost) add(other Lost) {
	l.Attempts += other.Attempts
	l.Lost += other.Lost
	if other.most > l.most {
		l.most, l.Over = other.most, other.Over
	}
}

// String is "" if none was lost, or a sentence with a space after it.
func (l Lost) String() string {
	if l.Lost == 0 {
		return ""
	}
	return fmt.Sprintf("%d attempts; %d lost %s. ", l.Attempts, l.Lost, l.Over)
}

// lostIn sums up the attempts that a goroutine has lost within w.
func (f *follower) lostIn(id trace.GoID, w window) (sum Lost) {
	for _, l := range f.lost[id] {
		if l.at >= w.start && l.at <= w.end {
			sum.add(l)
		}
	}
	return sum
}
