// Package gobtext reads the streams of package encoding/gob without the Go types of their values.
// It checks the lengths in a value before codec Gob hands the value to gob, which allocates by some
// of them. For mvccdump it makes of a value others that package json prints.
//
// A stream may be forged: then the package returns an error. It neither panics, nor nests, reads
// ahead or allocates without bound.
package gobtext

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// maxMessage is how long gob lets a message be, and maxNames how long all names of the fields
	// and types of a value may be: each is in the stream once, and may be printed very often.
	maxMessage = (1 << 30) << (^uint(0) >> 62)
	maxNames   = 1 << 28
	// maxDepth is how deep values may be nested: deeper than codec Gob allows.
	maxDepth = 20000
	// largeValue is the size above which the memory of a value is not used for the next one.
	largeValue = 1 << 20
)

// A Reader reads a stream.
type Reader struct {
	r       *bufio.Reader
	types   map[int64]*wireType
	repairs []byte
	raw     []byte // the messages of the value, with those that define types for it
	prints  bool   // Fields is wanted
	fields  map[string]any
}

// NewReader returns a reader of the stream of one encoder, which may read ahead.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReader(r), types: map[int64]*wireType{}}
}

// NewPrinter returns a reader of records, which are structs: see [Reader.Fields].
func NewPrinter(r io.Reader) *Reader {
	p := NewReader(r)
	p.prints = true
	return p
}

// Raw returns the messages of the value, with those before it that define types. They are valid until
// the next call of Next.
func (r *Reader) Raw() []byte { return r.raw }

// Repairs returns the repairs before the value, see package durable. They are valid as Raw is.
func (r *Reader) Repairs() []byte { return r.repairs }

// Next reads the next value, and checks that it and all of its parts are as long as they say, and
// not nested too deep. It returns io.EOF at the end of the stream. It costs a copy of the value,
// and a walk over its bytes if it has slices or maps or values of interface types. It allocates no
// more than the stream has bytes.
func (r *Reader) Next() error {
	if cap(r.raw) > largeValue {
		r.raw, r.repairs = nil, nil
	}
	r.raw, r.repairs = r.raw[:0], r.repairs[:0]
	if first, err := r.r.Peek(1); err == nil && first[0] == 0 {
		if err := r.readRepairs(); err != nil {
			return err
		}
	}
	for {
		from, err := r.message()
		if err != nil {
			if len(r.raw) > 0 || len(r.repairs) > 0 {
				err = unexpected(err)
			}
			return err
		}
		p := parser{r: r, in: r.raw[from:]}
		id := p.int()
		if p.err != nil {
			return p.err
		}
		if id >= 0 {
			return p.message(id)
		}
		if p.define(-id); p.err == nil && len(p.in) > 0 {
			p.fail("something follows the definition of a type")
		}
		if p.err != nil {
			return p.err
		}
	}
}

// readRepairs reads the repairs before a value, behind their first byte and their length.
func (r *Reader) readRepairs() error {
	_, _ = r.r.Discard(1)
	n, err := binary.ReadUvarint(r.r)
	if err != nil {
		return unexpected(err)
	}
	r.repairs, err = r.read(r.repairs, n)
	return err
}

// message reads a message into raw, with its length, and returns where it begins there.
func (r *Reader) message() (from int, err error) {
	first, err := r.r.ReadByte()
	if err != nil {
		return 0, err
	}
	r.raw = append(r.raw, first)
	n := uint64(first)
	if first > 0x7f {
		size := uint64(-int(int8(first)))
		if size > 8 {
			return 0, errors.New("gob: the length of a message is not right")
		}
		if r.raw, err = r.read(r.raw, size); err != nil {
			return 0, err
		}
		n = bigEndian(r.raw[uint64(len(r.raw))-size:])
	}
	if n == 0 || n > maxMessage {
		return 0, fmt.Errorf("gob: a message of %d bytes, want 1 to %d", n, uint64(maxMessage))
	}
	from = len(r.raw)
	r.raw, err = r.read(r.raw, n)
	return from, err
}

// read appends n bytes of the stream. It allocates as they come.
func (r *Reader) read(to []byte, n uint64) ([]byte, error) {
	for n > 0 {
		some := int(min(n, uint64(max(len(to), 1<<16))))
		from := len(to)
		to = slices.Grow(to, some)[:from+some]
		if _, err := io.ReadFull(r.r, to[from:]); err != nil {
			return to[:from], unexpected(err)
		}
		n -= uint64(some)
	}
	return to, nil
}

func bigEndian(b []byte) (n uint64) {
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return n
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
