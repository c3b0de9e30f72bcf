package disk

// What the frames of a backup say: see docs/format.md. The last byte of the magic is the version of
// the format; the one before had no shapes of types.
var (
	BackupMagic       = Magic([]byte("mvccmap\x02"))
	BackupMagicBefore = Magic([]byte("mvccmap\x01"))
)

// The kinds of frames of a backup.
const (
	BackupHeader = 'h' // a part of the header
	BackupData   = 'd' // a part of what the codec has written
	BackupAnew   = 'n' // what follows is of another encoder
	BackupTable  = 't' // the end of a table, with counts
	BackupEnd    = 'e' // the end, with the number of records
)
