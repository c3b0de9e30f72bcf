package journal

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/mvccmap/mvccmap/internal/disk"
)

// A mark says that all up to an epoch of a database is on disk: a stream of one frame of its own.
// Data in a group may look like a mark, but does not have the random name of the database.
var markMagic = disk.Magic([]byte("mvccmark"))

// Each journal begins with a record that says which one it is, and of which database: it is on disk
// before the backup of the same number is. So a file that is cut to nothing, or stands at the name
// of another, is known, and so is a backup of another folder.
const (
	frameMark  = 'm'
	frameBegin = 'b'
)

func writeBegin(w io.Writer, number, epoch uint64, db string) error {
	payload := binary.AppendUvarint(binary.AppendUvarint(nil, number), epoch)
	return disk.NewWriter(w, markMagic).Frame(frameBegin, append(payload, db...))
}

// readBegin reads the record that a journal begins with, and returns how long it is. db is empty if
// it is of a version that did not write it.
func readBegin(r io.Reader) (number, epoch uint64, db string, n int64, err error) {
	in := disk.NewReader(r, markMagic)
	kind, payload, err := in.Frame()
	if err != nil {
		return 0, 0, "", 0, err
	}
	number, k := binary.Uvarint(payload)
	if kind != frameBegin || k <= 0 {
		return 0, 0, "", 0, in.Damage("it does not begin as a journal should")
	}
	epoch, m := binary.Uvarint(payload[k:])
	if m <= 0 {
		return 0, 0, "", 0, in.Damage("it does not begin as a journal should")
	}
	return number, epoch, string(payload[k+m:]), in.Read(), nil
}

func writeMark(w io.Writer, epoch uint64, db string) error {
	return disk.NewWriter(w, markMagic).Frame(frameMark,
		append(binary.AppendUvarint(nil, epoch), db...))
}

// readMark reads a mark, and returns how long it is. An error is a [*disk.DamageError], or of r.
func readMark(r io.Reader) (epoch uint64, db string, n int64, err error) {
	in := disk.NewReader(r, markMagic)
	kind, payload, err := in.Frame()
	if err != nil {
		return 0, "", 0, err
	}
	epoch, k := binary.Uvarint(payload)
	if kind != frameMark || k <= 0 {
		return 0, "", 0, in.Damage("it is not a mark")
	}
	return epoch, string(payload[k:]), in.Read(), nil
}

// lastMark returns the highest epoch of the marks of a database in data, or, if db is empty, of
// any; 0 if there is none.
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
