package disk

import (
	"io"
	"slices"
)

// docs/format.md says the meaning of a backup's frames. The last byte of the magic is the version
// of the format; the version before had no shapes of types.
var (
	BackupMagic       = Magic([]byte("mvccmap\x02"))
	BackupMagicBefore = Magic([]byte("mvccmap\x01"))
)

// NewBackupReader returns a reader of a backup, in any form and version.
func NewBackupReader(r io.Reader) *Reader {
	return NewReader(r, BackupMagic, BackupMagicBefore, LineMagic)
}

// BeginsBackup reports whether a stream that begins with head may be a backup.
func BeginsBackup(head []byte) bool {
	return slices.ContainsFunc([]Magic{BackupMagic, LineMagic}, func(m Magic) bool {
		return len(head) >= 7 && string(head[:7]) == string(m[:7])
	})
}

// Version returns the version of the format that a backup has, after the first frame.
func (r *Reader) Version() byte {
	if r.magic == LineMagic {
		return lineVersion
	}
	return r.magic[7]
}

// HighestSkip is the highest epoch that a program can skip to, and HighestEpoch the highest one that a
// file may have: no machine makes so many commits that it gets there. Clocks go up to 1<<52.
const (
	HighestSkip  = 1 << 51
	HighestEpoch = 3 << 50
)

// The kinds of frames of a backup.
const (
	BackupHeader = 'h' // a part of the header
	BackupData   = 'd' // a part of the output of the codec
	BackupAnew   = 'n' // the next records are of another encoder
	BackupTable  = 't' // the end of a table, with counts
	BackupEnd    = 'e' // the end, with the number of records
)
