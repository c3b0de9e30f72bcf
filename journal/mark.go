package journal

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/mvccmap/mvccmap/internal/frames"
)

// A mark says that all up to an epoch is on disk: a stream of one frame of its own.
var markMagic = frames.Magic([]byte("mvccmark"))

const frameMark = 'm'

func writeMark(w io.Writer, epoch uint64) error {
	return frames.NewWriter(w, markMagic).Frame(frameMark, binary.AppendUvarint(nil, epoch))
}

// readMark reads a mark, and returns how long it is. An error is a [*frames.DamageError], or of r.
func readMark(r io.Reader) (epoch uint64, n int64, err error) {
	in := frames.NewReader(r, markMagic)
	kind, payload, err := in.Frame()
	if err != nil {
		return 0, 0, err
	}
	epoch, k := binary.Uvarint(payload)
	if kind != frameMark || k != len(payload) {
		return 0, 0, in.Damage("it is not a mark")
	}
	return epoch, in.Read(), nil
}

// lastMark returns the highest epoch of the marks in data, 0 if there is none.
func lastMark(data []byte) (epoch uint64) {
	for {
		at := bytes.Index(data, markMagic[:])
		if at < 0 {
			return epoch
		}
		if e, _, err := readMark(bytes.NewReader(data[at:])); err == nil {
			epoch = max(epoch, e)
		}
		data = data[at+1:]
	}
}
