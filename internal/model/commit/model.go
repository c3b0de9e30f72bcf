package commit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/model/explore"
)

// Model is a scenario compiled for exploration. It is not safe for concurrent
// use.
type Model struct {
	Scenario
	raw  bool // epochs are not renumbered
	keys int
	prog [maxProcs][]uint8 // operations of a process

	ops      []Op
	opNames  []string
	records  []record
	versions []version
	firsts   [maxOps][]uint8 // for each operation and try, its record
	verdicts map[outcome]error
	watches  bool  // somebody watches
	spare    *move // a move that is not in use
}

// record is what never changes about a record.
type record struct {
	op    int  // -1: the initial versions
	check bool // the transaction validates its reads
}

// version is what never changes about a version.
type version struct {
	op     int // -1: an initial version
	key    Key
	record uint8
	copies bool // the version has a word of its own into which the epoch is copied
	tomb   bool
	name   string
}

// New compiles a scenario. It fails if the scenario does not fit into a state.
func New(sc Scenario) (*Model, error) {
	sc.Passes, sc.Attempts = max(sc.Passes, 1), max(sc.Attempts, 1)
	if len(sc.Procs) > maxProcs || sc.Pruners > maxPruners {
		return nil, fmt.Errorf("commit: %v has too many processes", sc)
	}
	m := &Model{Scenario: sc, verdicts: map[outcome]error{}}
	m.records = []record{{op: -1}}
	m.versions = []version{{op: -1, name: "nil"}}
	for _, ops := range sc.Procs {
		for _, op := range ops {
			for _, k := range append(append([]Key(nil), op.Reads...), op.Writes...) {
				m.keys = max(m.keys, int(k)+1)
			}
		}
	}
	for k := range m.keys {
		m.versions = append(m.versions, version{
			op: -1, key: Key(k), tomb: slices.Contains(sc.Deleted, Key(k)), name: Key(k).String() + "0",
		})
	}
	count := 0
	for _, ops := range sc.Procs {
		count += len(ops)
	}
	made := m.keys // entries, of which every removal makes room for one more
	if sc.Remove {
		made += sc.Pruners * sc.Passes * len(sc.Pruned)
	}
	if m.keys > maxKeys || count > maxOps || made >= maxEntries {
		return nil, fmt.Errorf("commit: %v has %d keys, %d operations, %d entries", sc, m.keys, count, made)
	}
	for p, ops := range sc.Procs {
		for i, op := range ops {
			id := len(m.ops)
			m.prog[p] = append(m.prog[p], uint8(id))
			m.ops = append(m.ops, op)
			m.opNames = append(m.opNames, fmt.Sprintf("%s.%d %v", m.Name(p), i+1, op))
			m.addVersions(id, fmt.Sprintf("%d.%d", p+1, i+1))
		}
	}
	if len(m.records) > maxRecords || len(m.versions) > maxVersion {
		return nil, fmt.Errorf("commit: %v has %d records, %d versions", sc, len(m.records), len(m.versions))
	}
	m.watches = m.watched()
	return m, nil
}

// addVersions makes the records and versions that operation id may install.
func (m *Model) addVersions(id int, label string) {
	op := m.ops[id]
	if len(op.Writes) == 0 {
		return
	}
	tries := 1
	if m.again(op) && (len(op.Writes) > 1 || op.check()) && m.Faults&ReuseVersions == 0 {
		tries = m.Attempts
	}
	for try := range tries {
		r := uint8(len(m.records))
		m.records = append(m.records, record{op: id, check: op.check()})
		m.firsts[id] = append(m.firsts[id], uint8(len(m.versions)))
		for i, k := range op.Writes {
			name := fmt.Sprintf("%v@%s", k, label)
			if try > 0 {
				name += strings.Repeat("'", try)
			}
			m.versions = append(m.versions, version{
				op: id, key: k, record: r, name: name,
				copies: m.Copy && i > 0, tomb: op.Kind == DeleteKind,
			})
		}
	}
}

// Unreduced returns the model with the epochs a program would draw.
func (m *Model) Unreduced() explore.Model[state] {
	u := *m
	u.raw = true
	u.spare = nil
	return &u
}

// Run explores the scenario, which must fit into a state.
func Run(sc Scenario, o explore.Options) explore.Result {
	m, err := New(sc)
	if err != nil {
		panic(err)
	}
	if o.Solo == 0 {
		o.Solo = sc.Solo
	}
	return explore.Run[state](m, o)
}

// Initial has one committed version of every key that is not absent.
func (m *Model) Initial() state {
	var s state
	s.record[0] = committed
	for k := range m.keys {
		if !slices.Contains(m.Absent, Key(k)) {
			s.entries++
			s.index[k] = s.entries
			s.head[s.entries] = uint8(1 + k)
		}
	}
	for i := len(m.Procs); i < maxProcs; i++ {
		s.proc[i].pc = atEnd
	}
	for i := m.Pruners; i < maxPruners; i++ {
		s.pruner[i].pc = pruneEnd
	}
	return s
}

// Processes counts the programs' processes and the pruners.
func (m *Model) Processes() int { return len(m.Procs) + m.Pruners }

// Finished reports whether process p is at its end.
func (m *Model) Finished(s *state, p int) bool {
	if p < len(m.Procs) {
		return s.proc[p].pc == atEnd
	}
	return s.pruner[p-len(m.Procs)].pc == pruneEnd
}

// Name returns P1, P2, ... and pruner1, ...
func (m *Model) Name(p int) string {
	if p < len(m.Procs) {
		return "P" + strconv.Itoa(p+1)
	}
	return "pruner" + strconv.Itoa(p-len(m.Procs)+1)
}

// faulty reports whether the scenario makes mistake f.
func (m *Model) faulty(f Fault) bool { return m.Faults&f != 0 }

// op returns the current operation of process i.
func (m *Model) op(s *state, i int) (id uint8, op *Op) {
	id = m.prog[i][s.proc[i].op]
	return id, &m.ops[id]
}

// again reports whether op is installed again when a rival has aborted it.
func (m *Model) again(op Op) bool { return op.blind() || m.Again }

// own returns the first version of the current try of process i; its other
// versions follow it.
func (m *Model) own(s *state, i int) uint8 {
	id, _ := m.op(s, i)
	tries := m.firsts[id]
	return tries[min(int(s.proc[i].try), len(tries)-1)]
}

// ownRecord returns the record of the current try of process i, or 0.
func (m *Model) ownRecord(s *state, i int) uint8 {
	id, op := m.op(s, i)
	if len(op.Writes) == 0 || len(m.firsts[id]) == 0 {
		return 0
	}
	return m.versions[m.own(s, i)].record
}

// key returns the key that process i is working on.
func (m *Model) key(s *state, i int) Key {
	_, op := m.op(s, i)
	if s.proc[i].mode == installing {
		return op.Writes[s.proc[i].i]
	}
	return op.Reads[s.proc[i].i]
}

// word returns the state of version v as its record has it.
func (m *Model) word(s *state, v uint8) word { return s.record[m.versions[v].record] }

// decide returns what an announced record becomes with epoch t.
func (m *Model) decide(r uint8, t uint8) word {
	if m.records[r].check && !m.faulty(HelpIgnoresCheck) {
		return tentative.at(t)
	}
	return committed.at(t)
}

// Explain lists what has changed between two states.
func (m *Model) Explain(a, b *state) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if a.clock != b.clock {
		add("clock=%d", b.clock)
	}
	for i := range m.Procs {
		if (b.watching&^a.watching)>>i&1 != 0 {
			add("%s watches", m.Name(i))
		}
		if (b.dirty&^a.dirty)>>i&1 != 0 {
			add("the watch of %s is marked", m.Name(i))
		}
	}
	for k := range m.keys {
		if a.index[k] != b.index[k] {
			add("index[%v]=%s", Key(k), entryName(b.index[k]))
		}
	}
	for e := range a.head {
		if a.head[e] != b.head[e] {
			add("%s.head=%s", entryName(uint8(e)), m.headName(b.head[e]))
		}
	}
	for v := range m.versions {
		if a.next[v] != b.next[v] {
			add("%s.next=%s", m.versions[v].name, m.versions[b.next[v]].name)
		}
		if a.copied[v] != b.copied[v] {
			add("%s: own word set=%v, record pointer cleared=%v", m.versions[v].name, b.copied[v].set, b.copied[v].cleared)
		}
	}
	for r := range m.records {
		if a.record[r] != b.record[r] {
			add("%s is %v", m.recordName(uint8(r)), b.record[r])
		}
	}
	for i := range m.Procs {
		m.explainProc(add, a, b, i)
	}
	for op := range m.ops {
		for k := range m.keys {
			if a.result[op][k] != b.result[op][k] {
				add("%s has read %v=%s", m.opNames[op], Key(k), m.versions[b.result[op][k]].name)
			}
		}
		if (a.ok^b.ok)>>op&1 != 0 {
			add("%s returns", m.opNames[op])
		}
	}
	for i := range m.Pruners {
		p, q := &a.pruner[i], &b.pruner[i]
		if p.m != q.m && q.m != 0 {
			add("bound %d", q.m)
		}
		if p.live != q.live && q.live[0] != 0 {
			add("live epochs %v", epochs(q.live[:]))
		}
	}
	return strings.Join(out, ", ")
}

func (m *Model) explainProc(add func(string, ...any), a, b *state, i int) {
	p, q := &a.proc[i], &b.proc[i]
	if q.pc != atEnd && p.op == q.op {
		if q.live && !p.live {
			add("read epoch %d", q.s)
		}
		if p.h != q.h && q.h != 0 {
			add("at %s %v", m.versions[q.h].name, m.word(b, q.h))
		}
		if p.n != q.n && q.n != 0 {
			add("below it %s", m.versions[q.n].name)
		}
		if p.t != q.t && q.t != 0 {
			add("own epoch %d", q.t)
		}
		if p.d != q.d && q.d != 0 {
			add("has drawn %d", q.d)
		}
		if p.b != q.b && q.b != 0 {
			add("base %d", q.b)
		}
		if p.try != q.try {
			add("installs again")
		}
	}
	if p.op != q.op {
		if id := m.prog[i][p.op]; b.ok>>id&1 == 0 {
			add("%s returns a conflict", m.opNames[id])
		}
	}
}

func (m *Model) recordName(r uint8) string {
	for v := range m.versions {
		if v > 0 && m.versions[v].record == r {
			return m.versions[v].name
		}
	}
	return "?"
}

func (m *Model) headName(h uint8) string {
	if h == dead {
		return "DEAD"
	}
	return m.versions[h].name
}

func entryName(e uint8) string {
	if e == 0 {
		return "none"
	}
	return "entry" + itoa(e)
}

func epochs(live []uint8) (ts []int) {
	for _, a := range live {
		if a != 0 {
			ts = append(ts, int(a)-1)
		}
	}
	return ts
}

func itoa(n uint8) string { return strconv.Itoa(int(n)) }
