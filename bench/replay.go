package bench

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// A trace is a list of operations that were noted elsewhere, to be repeated.
type trace struct {
	keys   []string
	ops    []tracedOp
	kinds  []string // of operations that there are
	writes bool     // some operations write
	sizes  bool     // some say how large a value is
	least  int      // of these
	most   int      // likewise
	order  bool     // goroutines take them in their order, else those of their keys
	sum    string   // tells traces apart
}

type tracedOp struct {
	key  uint32
	kind OpKind
	size uint32 // 0: not said
}

// traceWords says what the words of a trace mean.
var traceWords = map[string]OpKind{
	"get": OpGet, "gets": OpGet, "read": OpGet, "r": OpGet,
	"put": OpPut, "set": OpPut, "write": OpPut, "w": OpPut, "insert": OpPut, "add": OpPut,
	"replace": OpPut, "update": OpPut,
	"delete": OpDelete, "del": OpDelete, "remove": OpDelete, "d": OpDelete,
}

// traceKinds are the names of the kinds of operations.
var traceKinds = map[OpKind]string{OpGet: "get", OpPut: "put", OpDelete: "delete"}

const (
	maxTraceOps = 100_000_000
	traceHelp   = `expected "get KEY", "put KEY SIZE" or "delete KEY", or timestamp,key,size,op`
)

// traceWorkload returns the workload that repeats the operations in a file. Goroutines take those of
// their keys.
func traceWorkload(name string) (Workload, error) {
	t, err := readTrace(name)
	if err != nil {
		return Workload{}, err
	}
	return Workload{
		Name: traceName(name), Doc: "The operations of a trace. " + traceVerified,
		Params: replayParams, usual: replayParams, kind: replay, trace: t, sum: t.sum,
		minKeys: 1, maxKeys: manyKeys,
	}, nil
}

const traceVerified = "Verified: values as those of gets and puts; where goroutines have keys of " +
	"their own, each read gives what the last operation on the key has left."

// replayParams are those of a trace: the size of values of which it does not say how large they
// are.
var replayParams = Params{Keys: Unset, ReadPct: Unset, Theta: Unset, ValueSize: ValueSize{100, 100}}

// traceName makes the name of a workload of that of a file.
func traceName(file string) string {
	base := filepath.Base(file)
	base = strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	words := strings.FieldsFunc(base, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	return strings.Join(append([]string{"trace"}, words...), "-")
}

func readTrace(name string) (*trace, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := parseTrace(name, file)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// parseTrace reads the lines of a trace.
func parseTrace(name string, from io.Reader) (*trace, error) {
	t := &trace{least: MaxValueSize}
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(from, sum))
	index := map[string]uint32{}
	n := 0
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, n, fmt.Sprintf(format, args...))
	}
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, key, size, ok := fieldsOf(line)
		kind, known := traceWords[strings.ToLower(word)]
		if n == 1 && strings.EqualFold(word, "op") {
			continue // the head of a table
		}
		if !ok || !known || key == "" || !utf8.ValidString(key) {
			return nil, bad("%s, not %.80q", traceHelp, line)
		}
		bytes := 0
		if size != "" {
			var err error
			if bytes, err = strconv.Atoi(size); err != nil || bytes < 0 || bytes > MaxValueSize {
				return nil, bad("expected a size from 0 to %d bytes, not %.80q", MaxValueSize, size)
			}
		}
		if len(t.ops) == maxTraceOps {
			return nil, bad("expected at most %d operations", maxTraceOps)
		}
		k, ok := index[key]
		if !ok {
			k = uint32(len(t.keys))
			key = strings.Clone(key)
			index[key], t.keys = k, append(t.keys, key)
		}
		op := tracedOp{key: k, kind: kind}
		if kind == OpPut && bytes > 0 {
			bytes = max(bytes, WordSize) // a value says who wrote it
			op.size, t.sizes = uint32(bytes), true
			t.least, t.most = min(t.least, bytes), max(t.most, bytes)
		}
		t.writes = t.writes || kind != OpGet
		if name := traceKinds[kind]; !slices.Contains(t.kinds, name) {
			t.kinds = append(t.kinds, name)
		}
		t.ops = append(t.ops, op)
	}
	n++
	if err := lines.Err(); err != nil {
		return nil, bad("%v", err)
	}
	if len(t.ops) == 0 {
		return nil, bad("%s; there is none", traceHelp)
	}
	t.sum = hex.EncodeToString(sum.Sum(nil))[:8]
	return t, nil
}

// fieldsOf splits a line: "op key [size]", or with commas "timestamp,key,size,op".
func fieldsOf(line string) (word, key, size string, ok bool) {
	if strings.Contains(line, ",") {
		f := strings.Split(line, ",")
		if len(f) < 4 {
			return "", "", "", false
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		return f[3], f[1], f[2], len(f) == 4
	}
	f := strings.Fields(line)
	if len(f) == 2 {
		f = append(f, "")
	}
	if len(f) != 3 {
		return "", "", "", false
	}
	return f[0], f[1], f[2], true
}

// size returns the sizes that values have, with what they have if the trace does not say.
func (t *trace) size(w Workload) ValueSize {
	size := w.Params.ValueSize
	if size == (ValueSize{}) {
		size = words
	}
	if t.sizes {
		size = ValueSize{min(size.Min, t.least), max(size.Max, t.most)}
	}
	return size
}

// replayJob repeats a trace, from its beginning when it has come to its end. The map is empty at
// first.
type replayJob[V any] struct {
	rig   *rigOf[V]
	trace *trace
	next  *atomic.Int64 // if in order: the next operation
	tasks []*replayTask[V]
	owner []int32 // by key: which goroutine has it; nil if in order
}

func newReplay[V any](r *rigOf[V]) *replayJob[V] {
	next := new(struct {
		_ [128]byte
		atomic.Int64
		_ [128]byte
	})
	j := &replayJob[V]{rig: r, trace: r.config.Workload.trace, next: &next.Int64}
	if !j.trace.order {
		j.owner = make([]int32, len(j.trace.keys))
		for k := range j.owner { // in the order in which they come: each has as many
			j.owner[k] = int32(k % r.config.Threads)
		}
	}
	return j
}

func (j *replayJob[V]) first(k int) stamp { return loaded(k) }

func (j *replayJob[V]) task(i int, s Session[V]) task {
	t := &replayTask[V]{
		job: j, session: s, writer: i + 1, values: newValues[V](j.rig.Trial, i),
		label: labeller{on: &j.rig.labelling}, latest: make([]uint64, j.rig.config.Threads+1),
	}
	var deletes bool
	if j.owner == nil {
		for _, op := range j.trace.ops {
			deletes = deletes || op.kind == OpDelete
		}
	} else {
		t.held = make([]stamp, len(j.trace.keys))
		for at, op := range j.trace.ops {
			if j.owner[op.key] == int32(i) {
				t.mine = append(t.mine, uint32(at))
				deletes = deletes || op.kind == OpDelete
			}
		}
	}
	t.counts.done = make([]uint64, len(j.rig.config.Workload.operationNames()))
	for kind, name := range traceKinds {
		t.kinds[kind] = max(slices.Index(j.trace.kinds, name), 0)
	}
	t.batcher, _ = s.(Batcher[V])
	t.deleter, _ = s.(Deleter)
	if deletes && t.batcher == nil && t.deleter == nil {
		return nil
	}
	j.tasks = append(j.tasks, t)
	return t
}

// replayTask repeats the operations of one goroutine.
type replayTask[V any] struct {
	job     *replayJob[V]
	session Session[V]
	batcher Batcher[V]
	deleter Deleter
	values  values[V]
	writer  int
	seq     uint64
	mine    []uint32 // its operations; nil if all are taken in order
	at      int      // the next of mine
	held    []stamp  // by key: what it has left there, 0 if nothing; nil if others write to it too
	latest  []uint64 // by writer: the last write that was seen
	ops     [1]Op[V]
	label   labeller
	counts  operationCounts
	kinds   [OpDelete + 1]int // the index of a kind among those that are counted
}

func (t *replayTask[V]) labels() *labeller { return &t.label }

func (t *replayTask[V]) operations() *operationCounts { return &t.counts }

func (t *replayTask[V]) do() error {
	err := t.next()
	if err == nil {
		t.counts.count()
	}
	return err
}

// next does the next operation.
func (t *replayTask[V]) next() error {
	all := t.job.trace
	var op tracedOp
	switch {
	case t.mine == nil:
		op = all.ops[uint64(t.job.next.Add(1)-1)%uint64(len(all.ops))]
	default:
		op = all.ops[t.mine[t.at]]
		if t.at++; t.at == len(t.mine) {
			t.at = 0
		}
	}
	k := int(op.key)
	key := all.keys[k]
	t.counts.now = t.kinds[op.kind]
	switch op.kind {
	case OpGet:
		t.label.gets()
		v, ok, err := t.session.Get(key)
		if err == nil {
			err = t.check(k, key, v, ok)
		}
		return err
	case OpDelete:
		t.label.puts()
		err := t.remove(key)
		if err == nil && t.held != nil {
			t.held[k] = 0
		}
		return err
	}
	t.label.puts()
	t.seq++
	s := makeStamp(t.writer, k, t.seq)
	var v V
	if bytes, ok := any(&v).(*[]byte); ok && op.size > 0 {
		t.values.filled(s, int(op.size), bytes)
	} else {
		t.values.set(&v, s)
	}
	err := t.session.Put(key, v)
	if err == nil && t.held != nil {
		t.held[k] = s
	}
	return err
}

func (t *replayTask[V]) remove(key string) error {
	if t.deleter != nil {
		return t.deleter.Delete(key)
	}
	t.ops[0] = Op[V]{Kind: OpDelete, Key: key}
	return t.batcher.Batch(t.ops[:], false)
}

// check checks what was read of key k.
func (t *replayTask[V]) check(k int, key string, value V, ok bool) error {
	var v stamp
	if ok {
		v = t.values.stamp(value)
	}
	w := stampWriter(v)
	var err error
	switch {
	case t.held != nil && (ok != (t.held[k] != 0) || v != t.held[k]):
		err = fmt.Errorf("gives %s, %t, but its only writer has left %s, %t", describe(v), ok,
			describe(t.held[k]), t.held[k] != 0)
	case ok && (w == 0 || w >= len(t.latest) || !keyMatches(v, k)):
		err = fmt.Errorf("holds %#x, which nobody wrote to it", v)
	case ok:
		t.latest[w] = max(t.latest[w], stampSeq(v))
	}
	if err != nil {
		return wrongValue(key, &t.values, value, ok, err)
	}
	return nil
}

func (j *replayJob[V]) verify() error {
	for _, t := range j.tasks {
		for w, seq := range t.latest {
			if w > 0 && seq > j.tasks[w-1].seq {
				return wrong("", "goroutine %d read write %d of goroutine %d, which made only %d",
					t.writer-1, seq, w-1, j.tasks[w-1].seq)
			}
		}
	}
	for k, key := range j.trace.keys {
		v, ok, err := j.rig.runner.Get(key)
		if err != nil {
			return err
		}
		check := j.tasks[0]
		if j.owner != nil {
			check = j.tasks[j.owner[k]]
		}
		if err := check.check(k, key, v, ok); err != nil {
			return err
		}
	}
	return nil
}
