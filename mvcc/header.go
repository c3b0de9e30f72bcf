package mvcc

import (
	"fmt"
	"io"

	"github.com/mvccmap/mvccmap/internal/disk"
)

// ReadHeader reads the header of a backup, or of a group of package journal, and no further: the
// tables, with the shapes of their types, the codec, the version and the epoch. It needs neither
// types nor codec, and allocates the header; Records, Refused and Bytes are 0. It returns a
// [*DamageError] for anything else, or a damaged header. Fields that an older version of the format
// lacks are zero.
func ReadHeader(r io.Reader) (Backup, error) {
	if r == nil {
		panic("mvcc: ReadHeader: r is nil")
	}
	b, err := readHeader(disk.NewBackupReader(r))
	if damage, ok := err.(*disk.DamageError); ok {
		err = &DamageError{Offset: damage.Offset, Reason: damage.Reason}
	} else if err != nil {
		err = fmt.Errorf("mvcc: ReadHeader: %w", err)
	}
	return b, err
}

// readHeader reads the frames of a header. An error is a [*disk.DamageError], or of the reader.
func readHeader(from *disk.Reader) (b Backup, err error) {
	var text []byte
	for more := true; more; {
		kind, payload, err := from.Frame()
		switch {
		case err != nil:
			return b, err
		case kind != frameHeader:
			return b, from.Damage("there is no header")
		}
		text, more = append(text, payload...), len(payload) == disk.MaxPayload
	}
	if err := (header{Backup: &b}).parse(text); err != nil {
		return Backup{}, from.Damage("the header cannot be read: " + err.Error())
	}
	if b.Epoch > disk.HighestEpoch {
		return b, from.Damage("the epoch is not right")
	}
	return b, nil
}
