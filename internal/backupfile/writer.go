package backupfile

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/internal/disk"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A Writer writes a backup: for each table of the header that is not closed, in their order, Table,
// what encoders have written, and EndTable; and at last End.
type Writer struct {
	to      *disk.Writer
	data    []byte
	records int
}

// NewWriter writes the header. The backup is lines if the codec is JSON.
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
	if b.Codec == "json" {
		to.to = disk.NewLineWriter(w)
	}
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
		n := w.to.Part(w.data)
		if n == 0 {
			break
		}
		if err := w.to.Frame(disk.BackupData, w.data[:n]); err != nil {
			return 0, err
		}
		w.data = append(w.data[:0], w.data[n:]...)
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

// Table says which table follows.
func (w *Writer) Table(name string) error { return w.to.Table(name) }

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
