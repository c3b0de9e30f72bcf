package losses

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// A Row has the attempts of one transaction that were lost over keys of one table.
type Row struct {
	Who   string `json:"who"`
	Table string `json:"table,omitempty"`
	// Calls led to the transaction, leaf first.
	Calls []contention.Frame `json:"calls"`
	// Attempts are all attempts of the transaction, over any tables; 0 for commits by hand.
	Attempts uint64        `json:"attempts"`
	Lost     uint64        `json:"lost"`
	Took     time.Duration `json:"lost_ns"`   // the time that the lost ones took
	Waited   time.Duration `json:"waited_ns"` // before the lost ones but the first
	Causes   []Share       `json:"causes"`
	// Of the newest lost attempts, the most frequent first.
	Sampled int     `json:"sampled"`
	Keys    []Share `json:"keys"`
	Winners []Share `json:"winners"`
}

// A Share is a part of the lost attempts.
type Share struct {
	Text  string  `json:"text"`
	Share float64 `json:"share"`
}

// Share is the share of the attempts that was lost.
func (r *Row) Share() float64 { return float64(r.Lost) / float64(max(r.Attempts, r.Lost, 1)) }

// String says over which keys, and to whom.
func (r *Row) String() string {
	text := ""
	if len(r.Keys) > 0 {
		text = fmt.Sprintf("%s over one key", humanize.Percent(r.Keys[0].Share))
	}
	if len(r.Winners) > 0 {
		text += fmt.Sprintf(", %s to %s", humanize.Percent(r.Winners[0].Share), r.Winners[0].Text)
	}
	return text
}

// most bounds the keys and winners of a row.
const most = 8

// Report returns the losses, those that took longest first, and the time since which they were
// counted. It shows keys only if show is set.
func Report(show bool) (rows []*Row, since time.Time) {
	state.mu.Lock()
	looked := state.looked
	state.mu.Unlock()
	type place struct{ who, table string }
	names := map[caller]string{} // callers of one name, or else of one line, are one
	name := func(c caller) string {
		if names[c] == "" {
			names[c] = c.String()
		}
		return names[c]
	}
	type sum struct {
		*Row
		kinds         [gaveWay + 1]uint64
		keys, winners map[string]int
	}
	all, attempts := map[place]*sum{}, map[string]uint64{}
	for _, g := range looked {
		for _, c := range g.callers.Range {
			if !c.byHand {
				attempts[name(c.caller)] += c.attempts.Load()
			}
			for table, at := range c.tables.Range {
				l, p := at.(*losing), place{name(c.caller), table.(string)}
				s := all[p]
				if s == nil {
					s = &sum{Row: &Row{Who: p.who, Table: p.table, Calls: c.frames()},
						keys: map[string]int{}, winners: map[string]int{}}
					all[p] = s
				}
				s.Lost += l.n.Load()
				s.Took += time.Duration(l.took.Load())
				s.Waited += time.Duration(l.waited.Load())
				for kind := range l.kinds {
					s.kinds[kind] += l.kinds[kind].Load()
				}
			}
		}
		for i := range g.samples {
			l := g.samples[i].Load()
			if l == nil {
				continue
			}
			s := all[place{name(l.caller), l.table}]
			if s == nil {
				continue // counted just now, or in a step that is gone
			}
			s.Sampled++
			s.keys[l.name(show)]++
			switch {
			case l.by != nil:
				s.winners[name(*l.by.by)] += l.by.times
			case l.epoch == 0:
				s.winners["one that had lost often"]++
			}
		}
	}
	for p, s := range all {
		s.Attempts = attempts[p.who]
		for kind, n := range s.kinds {
			if n > 0 {
				s.Causes = append(s.Causes, Share{causes[kind], float64(n) / float64(s.Lost)})
			}
		}
		known := 0
		for _, n := range s.winners {
			known += n
		}
		if known < s.Sampled {
			s.winners["others"] = s.Sampled - known
		}
		s.Keys, s.Winners = shares(s.keys, s.Sampled), shares(s.winners, max(s.Sampled, known))
		rows = append(rows, s.Row)
	}
	slices.SortFunc(rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(b.Lost, a.Lost),
			cmp.Compare(a.Who+a.Table, b.Who+b.Table))
	})
	if len(looked) > 0 {
		since = looked[0].began
	}
	return rows, since
}

// causes are the kinds in words.
var causes = [gaveWay + 1]string{
	mvcc.ConflictRead: "a read changed", mvcc.ConflictScan: "a scan changed",
	mvcc.ConflictWrite: "a write came first", gaveWay: "let one go first that had lost often",
}

// shares returns the most frequent keys or winners.
func shares(of map[string]int, all int) (list []Share) {
	for text, n := range of {
		list = append(list, Share{text, float64(n) / float64(all)})
	}
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Text, b.Text))
	})
	return list[:min(len(list), most)]
}

// name names the key: by a hash unless it is to be shown.
func (l *loss) name(show bool) string {
	if !show {
		return fmt.Sprintf("#%08x", uint32(l.hash))
	}
	text := fmt.Sprintf("%v", l.key)
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + " …"
	}
	return text
}

// String names the caller: by its name, or else by its line.
func (c *caller) String() string {
	name := c.name
	switch at := c.frames(); {
	case c.byHand:
		name = "a commit by hand"
		fallthrough
	case name == "":
		if name = cmp.Or(name, "the Update"); len(at) > 0 {
			name += fmt.Sprintf(" at %s:%d (%s)", path.Base(at[0].File), at[0].Line,
				humanize.Func(at[0].Func))
		}
	}
	return name
}

// ours begins the names of the map's functions, which are left out of the calls of the program.
const ours = "github.com/mvccmap/mvccmap/mvcc."

// frames returns the calls of the program that led to the transaction.
func (c *caller) frames() (list []contention.Frame) {
	next := runtime.CallersFrames(c.calls[:]) // zeros are nothing to it
	for more := true; more; {
		var f runtime.Frame
		f, more = next.Next()
		if !strings.HasPrefix(f.Function, ours) && f.Function != "" && f.Function != "runtime.goexit" {
			list = append(list, contention.Frame{Func: f.Function, File: f.File, Line: f.Line,
				PC: uint64(f.PC)})
		}
	}
	return list
}

// sentence says over which keys losses were, and to whom most: "over one key of counters, to vote".
func sentence(list []*loss) string {
	keys, tables, winners := map[uint64]bool{}, map[string]int{}, map[string]int{}
	for _, l := range list {
		keys[l.hash] = true
		tables[l.table]++
		if l.by != nil {
			winners[l.by.by.String()]++
		}
	}
	text := "over one key"
	if len(keys) > 1 {
		text = fmt.Sprintf("over %d keys", len(keys))
	}
	if names := slices.Sorted(maps.Keys(tables)); names[0] != "" {
		text += " of " + strings.Join(names, ", ")
	}
	if top := shares(winners, len(list)); len(top) > 0 {
		text += ", to " + top[0].Text
	}
	return text
}
