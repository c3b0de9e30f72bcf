package codec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// A gobEncoder refuses records of which gob leaves something out, and writes repairs of those that
// gob changes.
type gobEncoder struct {
	w    io.Writer
	enc  *gob.Encoder
	plan *plan // of the type that was encoded last
	// Records that gob may change are encoded and decoded by these first.
	trial struct {
		buf bytes.Buffer
		enc *gob.Encoder
		dec *gob.Decoder
	}
}

func (e *gobEncoder) Encode(v any) error {
	from := reflect.ValueOf(v).Elem()
	if e.plan == nil || e.plan.goType != from.Type() {
		e.plan = gobRules.planOf(from.Type(), hasAddress)
	}
	if !e.plan.still {
		c := precheck{rules: gobRules}
		if d := c.value(e.plan, from, 0); d != nil {
			return d
		}
		if c.doubt {
			if err := e.repair(from); err != nil {
				return err
			}
			for _, t := range c.held {
				keptInInterfaces.Store(t, true)
			}
		}
	}
	return e.enc.Encode(v)
}

// repair writes the repairs of a record. It fails if something cannot be repaired.
func (e *gobEncoder) repair(from reflect.Value) error {
	t := &e.trial
	if t.enc == nil {
		t.enc, t.dec = gob.NewEncoder(&t.buf), gob.NewDecoder(&t.buf)
	}
	back := reflect.New(from.Type())
	if err := t.enc.EncodeValue(from); err != nil {
		return err
	}
	if err := t.dec.DecodeValue(back); err != nil {
		return fmt.Errorf("it cannot be decoded: %w", err)
	}
	var r repairer
	r.compare(e.plan, from, back.Elem())
	repairs, err := parseRepairs(r.list)
	if err != nil {
		return err
	}
	repairs.apply(back.Elem())
	if d := gobRules.differ(e.plan, from, back.Elem(), 0); d != nil {
		return d
	}
	if len(r.list) == 0 {
		return nil
	}
	_, err = e.w.Write(append(binary.AppendUvarint([]byte{0}, uint64(len(r.list))), r.list...))
	return err
}

// A gobDecoder reads repairs as well.
type gobDecoder struct {
	r   *bufio.Reader // gob reads no more of it than it needs
	dec *gob.Decoder
}

func newGobDecoder(r io.Reader) *gobDecoder {
	in := bufio.NewReader(r)
	return &gobDecoder{in, gob.NewDecoder(in)}
}

func (d *gobDecoder) Decode(v any) error {
	first, err := d.r.Peek(1)
	if err != nil || first[0] != 0 {
		return d.dec.Decode(v)
	}
	repairs, err := d.repairs()
	if err != nil {
		return err
	}
	if err := d.dec.Decode(v); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	repairs.apply(reflect.ValueOf(v).Elem())
	return nil
}

// repairs reads them.
func (d *gobDecoder) repairs() (*repair, error) {
	_, _ = d.r.Discard(1)
	n, err := binary.ReadUvarint(d.r)
	if err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	var list bytes.Buffer // grows as far as there is something
	if _, err := io.CopyN(&list, d.r, int64(min(n, 1<<62))); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return parseRepairs(list.Bytes())
}
