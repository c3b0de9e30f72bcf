// Package gobtext prints what package encoding/gob has written, as JSON, without the Go types. A
// gob stream has the names and types of the fields; what it lacks, such as which of them are
// pointers, comes from the [Shape] in the header of a backup.
//
// It also reads the repairs that the gob codec of package codec puts before a record. What it reads
// may be forged: it returns an error then, and neither panics, nor nests, reads ahead or prints
// without bound.
package gobtext

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// maxMessage is how long gob lets a message be, and maxText how long the text of one may be.
	maxMessage = 1 << 30
	maxText    = 1 << 30
	// maxDepth is how deep values may be nested.
	maxDepth = 10000
)

// A Decoder reads a stream.
type Decoder struct {
	r     *bufio.Reader
	types map[int64]*wireType
	text  int // how long the text of a message may be
}

// NewDecoder returns a decoder of what one encoder has written.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{r: bufio.NewReader(r), types: map[int64]*wireType{}, text: maxText}
}

// A Def is the definition of a type, as a message of its own.
type Def struct {
	ID  int64
	Raw []byte
}

// A Message is a value of a stream, which is a struct.
type Message struct {
	Fields []Field
	// Defs are the definitions that have come before it, and Inner those that are within it, which
	// values of interface types bring along.
	Defs, Inner []Def
	// Raw is the value as it is in the stream, with its lengths. In the stream Repairs, if there are
	// any, come first, then Defs, and then Raw.
	Repairs, Raw []byte

	fix *fix
}

// Next reads the next value. It returns io.EOF at the end of the stream. The shapes of the fields
// are known by their names.
func (d *Decoder) Next(shapes map[string]Shape) (m Message, err error) {
	if first, err := d.r.Peek(1); err == nil && first[0] == 0 {
		if err := d.repairs(&m); err != nil {
			return m, err
		}
	}
	for {
		prefix, body, err := d.message()
		if err != nil {
			if (len(m.Repairs) > 0 || len(m.Defs) > 0) && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
		p := printer{parser: parser{d: d, in: body}}
		id := p.int()
		if p.err != nil {
			return m, p.err
		}
		if id >= 0 {
			p.raw = append(prefix, body...)
			m.Fields, err = p.record(id, shapes, m.fix)
			m.Raw, m.Inner = p.raw, p.inner
			return m, err
		}
		if p.define(-id); p.err == nil && len(p.in) > 0 {
			p.fail("something follows the definition of a type")
		}
		if p.err != nil {
			return m, p.err
		}
		m.Defs = append(m.Defs, Def{-id, append(prefix, body...)})
	}
}

// message reads a length, and what is of that length.
func (d *Decoder) message() (prefix, body []byte, err error) {
	first, err := d.r.ReadByte()
	if err != nil {
		return nil, nil, err
	}
	prefix, n := []byte{first}, uint64(first)
	if first > 0x7f {
		more := make([]byte, -int(int8(first)))
		if len(more) > 8 {
			return nil, nil, errors.New("gob: the length of a message is not right")
		}
		if _, err := io.ReadFull(d.r, more); err != nil {
			return nil, nil, io.ErrUnexpectedEOF
		}
		prefix, n = append(prefix, more...), 0
		for _, b := range more {
			n = n<<8 | uint64(b)
		}
	}
	if n == 0 || n > maxMessage {
		return nil, nil, fmt.Errorf("gob: a message of %d bytes, want 1 to %d", n, maxMessage)
	}
	body, err = d.take(n)
	return prefix, body, err
}

// take reads n bytes. What it allocates grows as far as there is something.
func (d *Decoder) take(n uint64) ([]byte, error) {
	if n <= 1<<16 {
		b := make([]byte, n)
		if _, err := io.ReadFull(d.r, b); err != nil {
			return nil, unexpected(err)
		}
		return b, nil
	}
	b, err := io.ReadAll(io.LimitReader(d.r, int64(n)))
	if err == nil && uint64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A fix is what repairs say of a value: see package codec. The steps that go behind a pointer are
// left out.
type fix struct {
	makes int // how many pointers, and then the slice or map, are not nil though gob says nothing
	isNil bool
	next  map[string]*fix
}

// step returns the fix of a field, an element, or what is under a key; nil if there is none.
func (f *fix) step(name string) *fix {
	if f == nil {
		return nil
	}
	return f.next[name]
}

// repairs reads the repairs that come before a value.
func (d *Decoder) repairs(m *Message) error {
	_, _ = d.r.Discard(1)
	n, err := binary.ReadUvarint(d.r)
	if err != nil {
		return unexpected(err)
	}
	if n > maxMessage {
		return fmt.Errorf("gob: repairs of %d bytes, want up to %d", n, maxMessage)
	}
	b, err := d.take(n)
	if err != nil {
		return err
	}
	m.Repairs = append(binary.AppendUvarint([]byte{0}, n), b...)
	m.fix = &fix{}
	number := func() int {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) { // each step has at least a byte
			err = errors.New("gob: the repairs of a record are not right")
			return 0
		}
		b = b[k:]
		return int(n)
	}
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		at := m.fix
		for steps := number(); steps > 0 && err == nil; steps-- {
			n := number()
			if err != nil {
				break
			}
			name := string(b[:n])
			if b = b[n:]; name == "*" {
				continue
			}
			if at.next[name] == nil {
				if at.next == nil {
					at.next = map[string]*fix{}
				}
				at.next[name] = &fix{}
			}
			at = at.next[name]
		}
		switch {
		case err != nil:
			return err
		case kind == 'm':
			at.makes++
		case kind == 'n':
			at.isNil = true
		case kind == '-' || kind == 'i': // a zero is printed without its sign
		default:
			return errors.New("gob: the repairs of a record are not right")
		}
	}
	return nil
}
