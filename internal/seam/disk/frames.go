// Package disk reads and writes the files of backups and journals. It makes the names in folders
// durable. A stream consists of frames, so that any damage is found, and where:
//
//	magic    8 bytes
//	frame    kind, 1 byte; length of the payload, 4 bytes; payload; checksum, 4 bytes
//
// Numbers are little-endian. A checksum is the CRC-32C of all that comes before it in the stream,
// without the other checksums. So a frame that is missing, repeated or out of its place does not
// match. (The CRC of a message with its CRC is always the same: with the checksums it would match.)
//
// The frames of a backup may be lines of JSON instead, see [NewLineWriter]. A reader tells that by
// the beginning of the stream.
package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// MaxPayload is how long a payload may be.
const MaxPayload = 1 << 16

// Magic begins a stream.
type Magic [8]byte

const (
	headLen = 5
	sumLen  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A DamageError says where a stream is damaged: the frame that begins at Offset.
type DamageError struct {
	Offset int64
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("damaged at offset %d: %s", e.Offset, e.Reason)
}

// A Writer writes a stream.
type Writer struct {
	w     io.Writer
	buf   []byte
	sum   uint32
	n     int64
	lines *lineWriter // nil if it writes frames
}

// NewWriter begins a stream. The magic is written with the first frame.
func NewWriter(w io.Writer, magic Magic) *Writer {
	return &Writer{w: w, buf: magic[:]}
}

// Frame writes a frame, in one Write.
func (w *Writer) Frame(kind byte, payload []byte) error {
	if w.lines != nil {
		return w.line(kind, payload)
	}
	if len(payload) > MaxPayload {
		panic("disk: the payload is too long")
	}
	w.buf = append(w.buf, kind)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(payload)))
	w.buf = append(w.buf, payload...)
	w.sum = crc32.Update(w.sum, castagnoli, w.buf)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, w.sum)
	return w.flush()
}

func (w *Writer) flush() error {
	n, err := w.w.Write(w.buf)
	w.n += int64(n)
	w.buf = w.buf[:0]
	return err
}

// Written returns how many bytes were written.
func (w *Writer) Written() int64 { return w.n }

// A Reader reads a stream.
type Reader struct {
	r       io.Reader
	payload []byte
	sum     uint32
	begun   bool
	magic   Magic // with which the stream begins
	magics  []Magic
	at      int64 // where the next frame begins
	frame   int64 // where the last frame began
	lines   lineReader
}

// NewReader returns a reader of the stream r, which begins with one of magics. It reads no more of
// r than the frames that it is asked for.
func NewReader(r io.Reader, magics ...Magic) *Reader { return &Reader{r: r, magics: magics} }

// Offset returns where the frame that was read last begins.
func (r *Reader) Offset() int64 { return r.frame }

// Read returns how many bytes were read.
func (r *Reader) Read() int64 { return r.at }

const (
	noFrame  = "it ends where a frame should follow"
	cutFrame = "it ends in the middle of the frame"
	noMatch  = "the checksum of the frame does not match"
)

// Frame reads a frame. The payload is valid until the next call. Frame returns an error of the
// underlying reader as it is, except io.EOF: if the stream ends, the error is a *DamageError.
func (r *Reader) Frame() (kind byte, payload []byte, err error) {
	if !r.begun {
		if err := r.read(r.magic[:], "it is shorter than a header"); err != nil {
			return 0, nil, err
		}
		if !slices.Contains(r.magics, r.magic) {
			return 0, nil, r.foreign()
		}
		r.begun = true
	}
	if r.magic == LineMagic {
		return r.line()
	}
	r.frame = r.at
	var head [headLen]byte
	if err := r.read(head[:], noFrame); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > MaxPayload {
		return 0, nil, r.Damage("the length of the frame is not right")
	}
	if uint32(len(r.payload)) < n {
		r.payload = make([]byte, max(n, 512))
	}
	if err := r.read(r.payload[:n], cutFrame); err != nil {
		return 0, nil, err
	}
	want := r.sum
	var sum [sumLen]byte
	if err := r.read(sum[:], cutFrame); err != nil {
		return 0, nil, err
	}
	if r.sum = want; binary.LittleEndian.Uint32(sum[:]) != want {
		return 0, nil, r.Damage(noMatch)
	}
	return head[0], r.payload[:n], nil
}

// foreign returns the error for a stream that begins with another magic.
func (r *Reader) foreign() error {
	known := slices.Contains(r.magics, BackupMagic)
	if v := r.magic[7]; known && [7]byte(r.magic[:]) == [7]byte(BackupMagic[:]) && v > lineVersion {
		return r.newer(int(v))
	}
	return r.Damage("it does not begin as it should")
}

// End returns a *DamageError if anything follows.
func (r *Reader) End() error {
	r.frame = r.at
	switch _, err := io.ReadFull(r.r, make([]byte, 1)); err {
	case nil:
		return r.Damage("it should end here")
	case io.EOF:
		return nil
	default:
		return err
	}
}

// Damage returns a *DamageError for the frame that was read last.
func (r *Reader) Damage(reason string) error { return &DamageError{r.frame, reason} }

func (r *Reader) read(p []byte, short string) error {
	n, err := io.ReadFull(r.r, p)
	r.sum = crc32.Update(r.sum, castagnoli, p[:n])
	r.at += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.Damage(short)
	}
	return err
}
