// Package backupfile reads backups, and the groups of journals, which are backups of differences,
// without the Go types of their records. docs/format.md describes them. Here the records are the
// bytes that a codec has written.
package backupfile

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

// A Reader reads a backup. Its errors are [*disk.DamageError], or of its source.
type Reader struct {
	Header  // Records and Refused of a table are set once it was read
	Records int
	Bytes   int64 // set at the end
	Format  byte  // the version of the format

	from  *disk.Reader
	next  int // the table that comes next
	table *Table
}

// NewReader reads the header of a backup. It reads no more of r than it is asked for.
func NewReader(r io.Reader) (*Reader, error) {
	b := &Reader{from: disk.NewBackupReader(r)}
	var err error
	if b.Header, err = ReadHeader(b.from); err != nil {
		return nil, err
	}
	b.Format = b.from.Version()
	return b, nil
}

// Next returns the next table, in the order of [Header.Tables], except for closed ones, which have
// no records. It passes over the unread rest of the table before. After the last table it reads the
// end of the backup, and returns io.EOF.
func (b *Reader) Next() (*Table, error) {
	if b.table != nil {
		if err := b.table.Skip(); err != nil {
			return nil, err
		}
		b.table = nil
	}
	for b.next < len(b.Tables) && b.Tables[b.next].Closed {
		b.next++
	}
	if b.next < len(b.Tables) {
		b.table = &Table{b: b, saved: &b.Tables[b.next], At: b.next}
		b.next++
		return b.table, nil
	}
	kind, payload, err := b.from.Frame()
	if err != nil {
		return nil, err
	}
	if n, _ := binary.Uvarint(payload); kind != disk.BackupEnd || n != uint64(b.Records) {
		return nil, b.from.Damage("there is no end, or it does not count the records that there are")
	}
	b.Bytes = b.from.Read()
	return nil, io.EOF
}

// Table returns the table at the place at in [Header.Tables], which must not be closed. It passes
// over the tables before that place.
func (b *Reader) Table(at int) (*Table, error) {
	for {
		if t, err := b.Next(); err != nil || t.At == at {
			return t, err
		}
	}
}

// Skip reads the rest of the backup.
func (b *Reader) Skip() error {
	for {
		if _, err := b.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// End returns a [*disk.DamageError] if anything follows the backup.
func (b *Reader) End() error { return b.from.End() }

// A Commit says how many of the records of a table of a group are those of one commit.
type Commit struct {
	Epoch   uint64
	Records int
}

type saved = TableHeader

// A Table is a table of a backup. It is an [io.Reader] of the output of one encoder: see Anew.
type Table struct {
	*saved     // Records and Refused are set once the table was read to its end
	At     int // its place in [Header.Tables]
	// Commits are those of a group that have records here, in the order of the records: nil if the
	// file does not say so. They are set once the table was read to its end.
	Commits []Commit

	b    *Reader
	data []byte // of the frame that was read last
	anew bool   // the rest is of another encoder
	over bool
}

// Read returns io.EOF at the end of the output of one encoder.
func (t *Table) Read(p []byte) (int, error) {
	for len(t.data) == 0 {
		if t.anew || t.over {
			return 0, io.EOF
		}
		if err := t.frame(); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.data)
	t.data = t.data[n:]
	return n, nil
}

// Anew reports whether output of another encoder follows, which Read then reads. It is called after
// Read has returned io.EOF.
func (t *Table) Anew() bool {
	if t.over || !t.anew {
		return false
	}
	t.anew = false
	return true
}

// Skip passes over the rest of the table.
func (t *Table) Skip() error {
	for !t.over {
		if err := t.frame(); err != nil {
			return err
		}
	}
	t.data, t.anew = nil, false
	return nil
}

// frame reads a frame.
func (t *Table) frame() error {
	kind, payload, err := t.b.from.Frame()
	if err != nil {
		return err
	}
	switch kind {
	case disk.BackupData:
		t.data = payload
	case disk.BackupAnew:
		t.anew = true
	case disk.BackupTable:
		n, k := binary.Uvarint(payload)
		refused, m := binary.Uvarint(payload[max(k, 0):])
		if n > 1<<62 || refused > 1<<62 {
			return t.b.from.Damage(fmt.Sprintf("the records of table %q are not counted right", t.Name))
		}
		t.over, t.Records, t.Refused = true, int(n), int(refused)
		t.b.Records += t.Records
		if !t.setCommits(payload[max(k, 0)+max(m, 0):]) {
			return t.b.from.Damage(fmt.Sprintf("the commits of table %q are not counted right", t.Name))
		}
	default:
		return t.b.from.Damage("a frame is not of the kind that it should be")
	}
	return nil
}

// setCommits reports whether list says which commits the records are of, or is empty.
func (t *Table) setCommits(list []byte) bool {
	t.Commits = nil
	if len(list) == 0 {
		return true
	}
	epoch, n := t.b.Since, 0
	for len(list) > 0 {
		more, k := binary.Uvarint(list)
		records, m := binary.Uvarint(list[max(k, 0):])
		if k <= 0 || m <= 0 || more > t.b.Epoch-epoch || records > uint64(t.Records-n) {
			return false
		}
		epoch, n, list = epoch+more, n+int(records), list[k+m:]
		t.Commits = append(t.Commits, Commit{epoch, int(records)})
	}
	return n == t.Records
}

// Damage returns a [*disk.DamageError] for the frame that was read last.
func (t *Table) Damage(reason string) error { return t.b.from.Damage(reason) }
