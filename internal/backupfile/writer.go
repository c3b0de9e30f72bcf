package backupfile

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/internal/disk"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A Writer writes a backup: for each table of the header that is not closed, in their order, what
// encoders have written, and EndTable; and at last End.
type Writer struct {
	to      *disk.Writer
	data    []byte
	records int
}

// NewWriter writes the header.
func NewWriter(w io.Writer, b mvcc.Backup) (*Writer, error) {
	// JSON has names that are not UTF-8 apart.
	header := struct {
		*mvcc.Backup
		Names map[int][]byte `json:"names,omitempty"`
	}{&b, map[int][]byte{}}
	for i, table := range b.Tables {
		if !utf8.ValidString(table.Name) {
			header.Names[i] = []byte(table.Name)
		}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	to := &Writer{to: disk.NewWriter(w, disk.BackupMagic)}
	for more := true; more; {
		n := min(len(text), disk.MaxPayload)
		if err := to.to.Frame(disk.BackupHeader, text[:n]); err != nil {
			return nil, err
		}
		text, more = text[n:], n == disk.MaxPayload
	}
	return to, nil
}

// Write is for what an encoder has written.
func (w *Writer) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	for len(w.data) >= disk.MaxPayload {
		if err := w.to.Frame(disk.BackupData, w.data[:disk.MaxPayload]); err != nil {
			return 0, err
		}
		w.data = append(w.data[:0], w.data[disk.MaxPayload:]...)
	}
	return len(p), nil
}

func (w *Writer) flush() error {
	if len(w.data) == 0 {
		return nil
	}
	data := w.data
	w.data = w.data[:0]
	return w.to.Frame(disk.BackupData, data)
}

// Anew says that what follows is of another encoder.
func (w *Writer) Anew() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.to.Frame(disk.BackupAnew, nil)
}

// EndTable ends a table of so many records.
func (w *Writer) EndTable(records int) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.records += records
	return w.to.Frame(disk.BackupTable, binary.AppendUvarint(nil, uint64(records)))
}

// End ends the backup.
func (w *Writer) End() error {
	return w.to.Frame(disk.BackupEnd, binary.AppendUvarint(nil, uint64(w.records)))
}
