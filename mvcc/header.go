package mvcc

import (
	"fmt"
	"io"

	"github.com/mvccmap/mvccmap/internal/disk"
)

// ReadHeader reads what a backup says of itself: the tables, with the shapes of their types, the
// codec, the version and the epoch. It needs neither the types nor the codec. It reads the header
// alone and no further, so Records, Refused and Bytes are 0, and damage behind it is not noticed:
// that is a [*DamageError] for what is not a backup, or has a header that is damaged. It blocks for
// as long as r does, and allocates what the header takes.
//
// A group of a journal, see package journal, is a backup too. What a header of an older version of
// the format lacks is zero.
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
