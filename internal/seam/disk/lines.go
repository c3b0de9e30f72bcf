package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
)

// A backup in lines has the contents of one in frames, for other tools to read. A frame is a line
// with an object. The line begins with a head of a fixed length, by which a reader knows its end:
//
//	{"mvccmap":3,"crc32c":"5b2f8c11","bytes":         421,"header":{...}}
//	{"crc32c":"ae0c2a97","bytes":          16,"table":"users"}
//	{"crc32c":"11d3c0b4","bytes":          68,"records":2}
//	{"k":1,"v":{"Name":"Ada"}}
//	{"k":2,"v":{"Name":"Bob"}}
//	{"crc32c":"7e05f1aa","bytes":          13,"counts":[2]}
//	{"crc32c":"0f6a9e4d","bytes":           8,"end":2}
//
// "bytes" is the number of bytes after the head, up to the end of the line, or of the records
// behind it. The checksum is that of all up to there, without the eight digits of each checksum.

// LineMagic begins a backup in lines: the rest of the name and the version follow.
var LineMagic = Magic([]byte(`{"mvccma`))

const (
	lineVersion = 3
	lineBegin   = `p":3,` // after the magic
	lineHead    = `"crc32c":"--------","bytes":------------,`
	sumAt       = len(`"crc32c":"`)
	sumTo       = sumAt + 8
	bytesTo     = len(lineHead) - 1
	bytesAt     = bytesTo - 12
	// The memory of a larger payload is not kept.
	largeLine = 16 * MaxPayload
)

// lineKeys are the names of kinds.
var lineKeys = map[byte]string{BackupHeader: "header", BackupData: "records", BackupAnew: "anew",
	BackupTable: "counts", BackupEnd: "end"}

type lineWriter struct {
	header []byte // the parts so far
	begun  bool
}

// NewLineWriter begins a backup in lines. The payloads of frames with data are whole lines, and may
// be longer than MaxPayload: see [Writer.Part].
func NewLineWriter(w io.Writer) *Writer { return &Writer{w: w, lines: &lineWriter{}} }

// Table writes which table follows, in a backup of lines.
func (w *Writer) Table(name string) error {
	if w.lines == nil {
		return nil
	}
	text, err := json.Marshal(name)
	if err != nil {
		return err
	}
	return w.object("table", text, nil)
}

// Part returns how many bytes of data are to be the payload of the next frame. In lines these are
// all whole lines in data, perhaps none.
func (w *Writer) Part(data []byte) int {
	if w.lines == nil {
		return min(len(data), MaxPayload)
	}
	return bytes.LastIndexByte(data, '\n') + 1
}

// line writes a frame as a line.
func (w *Writer) line(kind byte, payload []byte) error {
	switch kind {
	case BackupHeader:
		w.lines.header = append(w.lines.header, payload...)
		if len(payload) == MaxPayload { // more follows
			return nil
		}
		header := w.lines.header
		w.lines.header = nil
		return w.object(lineKeys[kind], header, nil)
	case BackupData:
		if n := len(payload); n == 0 || payload[n-1] != '\n' {
			panic("disk: the payload is not whole lines")
		}
		return w.object(lineKeys[kind], strconv.AppendInt(nil, int64(bytes.Count(payload, newline)), 10),
			payload)
	case BackupAnew:
		return w.object(lineKeys[kind], []byte("true"), nil)
	case BackupEnd:
		n, _ := binary.Uvarint(payload)
		return w.object(lineKeys[kind], strconv.AppendUint(nil, n, 10), nil)
	}
	text, err := json.Marshal(numbers(payload))
	if err != nil {
		return err
	}
	return w.object(lineKeys[kind], text, nil)
}

var newline = []byte("\n")

// lineEnds are characters that JSON leaves as they are in texts, and at which some readers end a
// line.
var lineEnds = [][2][]byte{{[]byte("\u0085"), []byte(`\u0085`)}, {[]byte("\u2028"), []byte(`\u2028`)},
	{[]byte("\u2029"), []byte(`\u2029`)}}

// EscapeLineEnds returns JSON with its line ends escaped, so that all readers take it for one line.
func EscapeLineEnds(text []byte) []byte {
	for _, end := range lineEnds {
		if bytes.Contains(text, end[0]) {
			text = bytes.ReplaceAll(text, end[0], end[1])
		}
	}
	return text
}

// numbers returns the numbers of a payload.
func numbers(payload []byte) []uint64 {
	list := []uint64{}
	for len(payload) > 0 {
		n, k := binary.Uvarint(payload)
		list, payload = append(list, n), payload[max(k, 1):]
	}
	return list
}

// object writes a line, and records that follow.
func (w *Writer) object(key string, value, records []byte) error {
	w.buf = append(w.buf, '{')
	if !w.lines.begun {
		w.lines.begun = true
		w.buf = append(append(w.buf[:0], LineMagic[:]...), lineBegin...)
	}
	head := len(w.buf)
	w.buf = append(w.buf, lineHead...)
	w.buf = append(append(append(w.buf, '"'), key...), `":`...)
	w.buf = append(append(w.buf, EscapeLineEnds(value)...), "}\n"...)
	w.buf = append(w.buf, records...)
	n := fmt.Sprintf("%12d", len(w.buf)-head-len(lineHead))
	if len(n) > bytesTo-bytesAt {
		return errors.New("the record is too long")
	}
	copy(w.buf[head+bytesAt:], n)
	w.sum = crc32.Update(w.sum, castagnoli, w.buf[:head+sumAt])
	w.sum = crc32.Update(w.sum, castagnoli, w.buf[head+sumTo:])
	copy(w.buf[head+sumAt:], sumText(w.sum))
	err := w.flush()
	if cap(w.buf) > largeLine {
		w.buf = nil
	}
	return err
}

// sumText returns a checksum in hexadecimal digits.
func sumText(sum uint32) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

type lineReader struct {
	begun bool
	rest  []byte // of the header
	more  bool   // there may be more of the header
}

// line reads a frame that is a line.
func (r *Reader) line() (kind byte, payload []byte, err error) {
	if r.lines.more {
		return r.headerPart()
	}
	for {
		key, value, records, err := r.object()
		if err != nil {
			return 0, nil, err
		}
		switch key {
		case "table": // the header says so too
			continue
		case "header":
			r.lines.rest = value
			return r.headerPart()
		case "records":
			return BackupData, records, nil
		case "anew":
			return BackupAnew, nil, nil
		case "counts":
			var list []uint64
			if json.Unmarshal(value, &list) == nil {
				return BackupTable, uvarints(list), nil
			}
		case "end":
			if n, err := strconv.ParseUint(string(value), 10, 64); err == nil {
				return BackupEnd, uvarints([]uint64{n}), nil
			}
		}
		return 0, nil, r.Damage("the line is not of a kind that it should be")
	}
}

// headerPart returns the next part of the header, as frames divide it.
func (r *Reader) headerPart() (kind byte, payload []byte, err error) {
	n := min(len(r.lines.rest), MaxPayload)
	payload, r.lines.rest, r.lines.more = r.lines.rest[:n], r.lines.rest[n:], n == MaxPayload
	return BackupHeader, payload, nil
}

func uvarints(list []uint64) (payload []byte) {
	for _, n := range list {
		payload = binary.AppendUvarint(payload, n)
	}
	return payload
}

// object reads a line, and the records that follow it.
func (r *Reader) object() (key string, value, records []byte, err error) {
	first := !r.lines.begun
	if r.lines.begun = true; first {
		if err := r.lineVersion(); err != nil {
			return "", nil, nil, err
		}
	} else {
		r.frame = r.at
	}
	was := r.sum
	head, short := []byte("{"+lineHead), noFrame
	if first {
		head, short = head[1:], cutFrame
	}
	if err := r.read(head, short); err != nil {
		return "", nil, nil, err
	}
	before := len(head) - len(lineHead)
	r.sum = crc32.Update(was, castagnoli, head[:before+sumAt])
	r.sum = crc32.Update(r.sum, castagnoli, head[before+sumTo:])
	head = head[before:]
	n, ok := lengthIn(string(head[bytesAt:bytesTo]))
	if !ok || string(head[:sumAt]) != lineHead[:sumAt] ||
		string(head[sumTo:bytesAt]) != lineHead[sumTo:bytesAt] || head[bytesTo] != ',' {
		return "", nil, nil, r.Damage("the line does not begin as it should")
	}
	if err := r.content(n); err != nil {
		return "", nil, nil, err
	}
	if sumText(r.sum) != string(head[sumAt:sumTo]) {
		return "", nil, nil, r.Damage(noMatch)
	}
	line, records, _ := bytes.Cut(r.payload, newline)
	line, ended := bytes.CutSuffix(line, []byte("}"))
	name, value, named := bytes.Cut(line, []byte(`":`))
	if name, ok := bytes.CutPrefix(name, []byte(`"`)); ok && ended && named {
		return string(name), value, records, nil
	}
	return "", nil, nil, r.Damage("the line is not of a kind that it should be")
}

// lineVersion reads the version, after the magic.
func (r *Reader) lineVersion() error {
	var begin [len(lineBegin)]byte
	err := r.read(begin[:], "it is shorter than a header")
	switch version := begin[3]; {
	case err != nil:
		return err
	case string(begin[:]) == lineBegin:
		return nil
	case string(begin[:3]) == lineBegin[:3] && '0'+lineVersion < version && version <= '9':
		return r.newer(int(version - '0'))
	}
	return r.Damage("it does not begin as it should")
}

// newer returns the error for a version of the format that is not known.
func (r *Reader) newer(version int) error {
	return r.Damage(fmt.Sprintf("it is of version %d of the format, which a newer program has written, "+
		"or is damaged; this one reads those up to %d", version, lineVersion))
}

// lengthIn parses a number that is filled up with spaces from the left.
func lengthIn(text string) (n int64, ok bool) {
	digits := bytes.TrimLeft([]byte(text), " ")
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return n, err == nil && fmt.Sprintf("%12d", n) == text
}

// content reads n bytes into the payload, which grows as bytes come: n may be damaged.
func (r *Reader) content(n int64) error {
	if cap(r.payload) > largeLine {
		r.payload = nil
	}
	for r.payload = r.payload[:0]; n > 0; {
		at := len(r.payload)
		some := int(min(n, int64(max(at, MaxPayload))))
		r.payload = append(r.payload, make([]byte, some)...)
		if err := r.read(r.payload[at:], cutFrame); err != nil {
			return err
		}
		n -= int64(some)
	}
	return nil
}
