package durable

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A mark says that all up to an epoch of a database is on disk: a stream of one frame of its own.
// Data in a group may look like a mark, but does not have the random name of the database.
var markMagic = disk.Magic([]byte("mvccmark"))

const (
	frameMark        = 'm'
	frameBegin       = 'l'
	frameBeginBefore = 'b' // of versions before there were lives
)

// A beginning is the record that a journal begins with. It is on disk before the backup of the same
// number, and before all that follows in the journal. So a file that is cut to nothing or stands at
// the name of another is noticed, and so is a backup of another folder.
type beginning struct {
	number uint64
	at     mvcc.Position // of the state that the journal leads on from; of version 1 without life
	// after is the position at which the earlier journals lead to the same state; they did so on
	// disk before this one was begun. It is zero if they need not, since there is a backup. said is
	// false in files from before there were lives: these files do not say after.
	after mvcc.Position
	said  bool
}

// longestBegin is longer than any beginning in a file.
const longestBegin = 256

func (b beginning) write(w io.Writer) error {
	payload := binary.AppendUvarint(nil, b.number)
	payload = binary.AppendUvarint(payload, b.at.Epoch)
	payload = binary.AppendUvarint(payload, b.after.Epoch)
	payload = binary.AppendUvarint(payload, uint64(len(b.at.Life)))
	payload = append(append(payload, b.at.Life...), b.after.Life...)
	return disk.NewWriter(w, markMagic).Frame(frameBegin, payload)
}

// readBegin reads the record that a journal begins with, and returns its length.
func readBegin(r io.Reader) (b beginning, length int64, err error) {
	in := disk.NewReader(r, markMagic)
	kind, payload, err := in.Frame()
	if err != nil {
		return b, 0, err
	}
	p := parser{payload, true}
	b.number, b.at.Epoch = p.number(), p.number()
	switch kind {
	case frameBegin:
		b.said, b.after.Epoch = true, p.number()
		b.at.Life = p.text(p.number())
		b.after.Life = p.text(uint64(len(p.data)))
	case frameBeginBefore:
		b.at.Life = p.text(uint64(len(p.data)))
		b.after = b.at
	default:
		p.good = false
	}
	if !p.good {
		return beginning{}, 0, in.Damage(noBegin)
	}
	return b, in.Read(), nil
}

const noBegin = "it does not begin as a journal should"

// A parser takes fields from a payload. good is false once a field was not whole.
type parser struct {
	data []byte
	good bool
}

func (p *parser) number() uint64 {
	n, k := binary.Uvarint(p.data)
	p.good = p.good && k > 0
	p.data = p.data[max(k, 0):]
	return n
}

func (p *parser) text(length uint64) string {
	if p.good = p.good && length <= uint64(len(p.data)); !p.good {
		return ""
	}
	text := string(p.data[:length])
	p.data = p.data[length:]
	return text
}

func writeMark(w io.Writer, epoch uint64, db string) error {
	return disk.NewWriter(w, markMagic).Frame(frameMark,
		append(binary.AppendUvarint(nil, epoch), db...))
}

// readMark reads a mark, and returns its length. An error is a [*disk.DamageError], or of r.
func readMark(r io.Reader) (epoch uint64, db string, n int64, err error) {
	in := disk.NewReader(r, markMagic)
	kind, payload, err := in.Frame()
	if err != nil {
		return 0, "", 0, err
	}
	p := parser{payload, kind == frameMark}
	epoch, db = p.number(), p.text(uint64(len(p.data)))
	if !p.good {
		return 0, "", 0, in.Damage("it is not a mark")
	}
	return epoch, db, in.Read(), nil
}

// lastMark returns the highest epoch of the marks in data: of the marks of a database, or of all
// marks if db is empty; 0 if there is none.
func lastMark(data []byte, db string) (epoch uint64) {
	for {
		at := bytes.Index(data, markMagic[:])
		if at < 0 {
			return epoch
		}
		if e, of, _, err := readMark(bytes.NewReader(data[at:])); err == nil && (db == "" || of == db) {
			epoch = max(epoch, e)
		}
		data = data[at+1:]
	}
}
