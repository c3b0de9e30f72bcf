package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The format: JSON, one value a line. The first line says what it is, each other
// one is a transaction.
//
//	{"format":"mvccmap-history","version":1,"kind":"append"}
//	{"id":1,"process":0,"level":"serializable","status":"committed","begin":10,"end":20,
//	 "ops":[{"f":"read","k":3,"l":[1,2]},{"f":"append","k":3,"v":5}]}

const (
	formatName    = "mvccmap-history"
	formatVersion = 1

	// Limits of what Read accepts.
	maxLine = 64 << 20
	maxTxs  = 1 << 24
	maxOps  = 1 << 22
)

type jsonHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Kind    string `json:"kind"`
}

type jsonTx struct {
	ID      int      `json:"id"`
	Process int      `json:"process"`
	Level   string   `json:"level"`
	Status  string   `json:"status"`
	Begin   int64    `json:"begin"`
	End     int64    `json:"end"`
	Scan    bool     `json:"scan,omitempty"`
	Epoch   uint64   `json:"epoch,omitempty"`
	Commit  uint64   `json:"commit,omitempty"`
	Ops     []jsonOp `json:"ops"`
}

type jsonOp struct {
	Kind  string `json:"f"`
	Key   int    `json:"k"`
	Value *int   `json:"v,omitempty"` // none: a read that found nothing, a delete
	List  []int  `json:"l,omitempty"`
}

// Write writes h as lines of JSON, which Read reads.
func (h *History) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	if err := enc.Encode(jsonHeader{formatName, formatVersion, h.Kind.String()}); err != nil {
		return err
	}
	for i := range h.Txs {
		tx := &h.Txs[i]
		j := jsonTx{ID: tx.ID, Process: tx.Process, Level: tx.Level.String(), Status: tx.Status.String(),
			Begin: tx.Begin, End: tx.End, Scan: tx.Scan, Epoch: tx.Epoch, Commit: tx.Commit, Ops: make([]jsonOp, len(tx.Ops))}
		for n := range tx.Ops {
			op := &tx.Ops[n]
			j.Ops[n] = jsonOp{Kind: op.Kind.String(), Key: op.Key}
			switch {
			case op.Kind == OpRead && h.Kind == KindAppend:
				j.Ops[n].List = op.List
			case op.Kind == OpAppend, op.Kind == OpWrite, op.Kind == OpRead && op.Present:
				j.Ops[n].Value = &op.Value
			}
		}
		if err := enc.Encode(&j); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// Read reads a history that Write has written. What is not one, or could not have
// been recorded, is an error that names the line.
func Read(r io.Reader) (*History, error) { return readLimited(r, maxLine) }

func readLimited(r io.Reader, limit int) (*History, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, limit)
	h, err := read(lines)
	if broken := lines.Err(); broken != nil {
		err = broken // what looked like a line was cut off
	}
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a line is longer than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return h, nil
}

func read(lines *bufio.Scanner) (*History, error) {
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return nil, err
		}
		return nil, errors.New("the input is empty")
	}
	var head jsonHeader
	if json.Unmarshal(lines.Bytes(), &head) != nil || head.Format != formatName {
		return nil, fmt.Errorf("line 1: not a history: want {\"format\":%q, ...}", formatName)
	}
	if head.Version != formatVersion {
		return nil, fmt.Errorf("line 1: version %d, want %d", head.Version, formatVersion)
	}
	h := new(History)
	var ok bool
	if h.Kind, ok = parse(head.Kind, KindAppend, KindRegister); !ok {
		return nil, fmt.Errorf("line 1: unknown kind %q", head.Kind)
	}
	ids := map[int]bool{}
	for n := 2; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if len(h.Txs) == maxTxs {
			return nil, fmt.Errorf("line %d: more than %d transactions", n, maxTxs)
		}
		tx, err := readTx(lines.Bytes(), h.Kind)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if ids[tx.ID] {
			return nil, fmt.Errorf("line %d: there is another transaction %d", n, tx.ID)
		}
		ids[tx.ID] = true
		h.Txs = append(h.Txs, tx)
	}
	return h, nil
}

func readTx(line []byte, kind Kind) (tx Tx, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var j jsonTx
	if err := dec.Decode(&j); err != nil {
		return tx, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return tx, errors.New("more than one value")
	}
	tx = Tx{ID: j.ID, Process: j.Process, Begin: j.Begin, End: j.End, Scan: j.Scan, Epoch: j.Epoch, Commit: j.Commit}
	var ok bool
	if tx.Level, ok = parse(j.Level, LevelSerializable, LevelSnapshot, LevelOneKey); !ok {
		return tx, fmt.Errorf("unknown level %q", j.Level)
	}
	if tx.Status, ok = parse(j.Status, StatusCommitted, StatusAborted, StatusUnknown); !ok {
		return tx, fmt.Errorf("unknown status %q", j.Status)
	}
	if j.End < j.Begin && tx.Status != StatusUnknown {
		return tx, fmt.Errorf("it ended at %d, before it began at %d", j.End, j.Begin)
	}
	if len(j.Ops) > maxOps {
		return tx, fmt.Errorf("more than %d operations", maxOps)
	}
	for i := range j.Ops {
		op, err := readOp(&j.Ops[i], kind)
		if err != nil {
			return tx, fmt.Errorf("operation %d: %w", i+1, err)
		}
		tx.Ops = append(tx.Ops, op)
	}
	return tx, nil
}

func readOp(j *jsonOp, kind Kind) (op Op, err error) {
	op = Op{Key: j.Key, List: j.List}
	kinds := []OpKind{OpRead, OpAppend}
	if kind == KindRegister {
		kinds = []OpKind{OpRead, OpWrite, OpDelete}
	}
	var ok bool
	if op.Kind, ok = parse(j.Kind, kinds...); !ok {
		return op, fmt.Errorf("%q is no operation of %v histories", j.Kind, kind)
	}
	hasList := op.Kind == OpRead && kind == KindAppend
	mayHave := op.Kind == OpRead && kind == KindRegister
	must := op.Kind == OpAppend || op.Kind == OpWrite
	switch {
	case j.List != nil && !hasList:
		return op, fmt.Errorf("a %v of %v histories has no list", op.Kind, kind)
	case j.Value == nil && must:
		return op, fmt.Errorf("%v of key %d: no value", op.Kind, op.Key)
	case j.Value != nil && !must && !mayHave:
		return op, fmt.Errorf("a %v of %v histories has no value", op.Kind, kind)
	}
	if j.Value != nil {
		op.Value, op.Present = *j.Value, mayHave
	}
	return op, nil
}

// parse returns the one of the given values whose name is s.
func parse[T fmt.Stringer](s string, values ...T) (v T, ok bool) {
	for _, v := range values {
		if v.String() == s {
			return v, true
		}
	}
	return v, false
}
