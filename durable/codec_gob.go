package durable

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/seam/gobtext"
)

// A gobEncoder refuses records with parts that gob leaves out, and writes repairs for records that
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

// A gobDecoder checks each record before gob decodes it, and repairs it. Gob allocates by counts in
// the stream, such as that of the elements of a map, which may be forged or damaged.
type gobDecoder struct {
	in  *gobtext.Reader
	raw bytes.Reader // the record
	dec *gob.Decoder
}

func (d *gobDecoder) Decode(v any) error {
	if err := d.in.Next(); err != nil {
		return err
	}
	d.raw.Reset(d.in.Raw())
	if err := d.dec.Decode(v); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil || len(d.in.Repairs()) == 0 {
		return err
	}
	repairs, err := parseRepairs(d.in.Repairs())
	if err == nil {
		repairs.apply(reflect.ValueOf(v).Elem())
	}
	return err
}
