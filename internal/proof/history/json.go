package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// The format: JSON, one value a line. The first line names the format, each other one
// is a transaction.
//
//	{"format":"mvccmap-history","version":2,"kind":"append","txs":1}
//	{"id":1,"process":0,"level":"serializable","status":"committed","begin":10,"end":20,
//	 "ops":[{"f":"read","k":3,"l":[1,2]},{"f":"append","k":3,"v":5}]}

const (
	formatName    = "mvccmap-history"
	formatVersion = 2
)

type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Kind    Kind   `json:"kind"`
	Txs     int    `json:"txs"`
}

// Write writes h as lines of JSON, which Read reads.
func (h *History) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	if err := enc.Encode(header{formatName, formatVersion, h.Kind, len(h.Txs)}); err != nil {
		return err
	}
	for i := range h.Txs {
		if err := enc.Encode(&h.Txs[i]); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// Read reads a history that Write has written. Anything else, or a history that could
// not have been recorded, is an error that says where.
func Read(r io.Reader) (*History, error) {
	dec := json.NewDecoder(bufio.NewReader(r))
	dec.DisallowUnknownFields()
	var head header
	err := dec.Decode(&head)
	if err == nil && head.Format != formatName {
		err = fmt.Errorf("its format is %q", head.Format)
	}
	if err != nil {
		return nil, fmt.Errorf(`history: not a history, which begins with {"format":%q: %w`, formatName, err)
	}
	if head.Version != formatVersion {
		return nil, fmt.Errorf("history: version %d, want %d", head.Version, formatVersion)
	}
	if !slices.Contains(Kinds(), head.Kind) {
		return nil, fmt.Errorf("history: unknown kind %q", head.Kind)
	}
	h := &History{Kind: head.Kind}
	ids := map[int]bool{}
	for {
		var tx Tx
		err := dec.Decode(&tx)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = tx.check(h.Kind)
		}
		if err == nil && ids[tx.ID] {
			err = fmt.Errorf("there is another transaction %d", tx.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("history: line %d: %w", len(h.Txs)+2, err)
		}
		ids[tx.ID] = true
		h.Txs = append(h.Txs, tx)
	}
	if len(h.Txs) != head.Txs {
		return nil, fmt.Errorf("history: %d transactions instead of %d", len(h.Txs), head.Txs)
	}
	return h, nil
}

// check returns an error if tx cannot be of a history of the kind.
func (tx *Tx) check(kind Kind) error {
	switch {
	case !slices.Contains([]Level{LevelSerializable, LevelSnapshot, LevelOneKey}, tx.Level):
		return fmt.Errorf("unknown level %q", tx.Level)
	case kind == KindOneKey && tx.Level == LevelSnapshot:
		return fmt.Errorf("%s histories have no transactions at snapshot level", kind)
	case tx.Status != StatusCommitted && tx.Status != StatusAborted:
		return fmt.Errorf("unknown status %q", tx.Status)
	case tx.End < tx.Begin:
		return fmt.Errorf("it ended at %d, before it began at %d", tx.End, tx.Begin)
	}
	for _, op := range tx.Ops {
		if !slices.Contains(opKinds[kind], op.Kind) {
			return fmt.Errorf("%q is no operation of %s histories", op.Kind, kind)
		}
	}
	return nil
}
