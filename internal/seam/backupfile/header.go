package backupfile

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

// A Header is the first part of a backup, in JSON. Of an older version of the format some fields are
// zero.
type Header struct {
	// DB is the life of the database, see mvcc.Position.
	DB string `json:"db"`
	// Epoch is the epoch of the saved snapshot. Since, if not 0, is that of the older snapshot to
	// which the backup has the differences.
	Epoch uint64 `json:"epoch"`
	Since uint64 `json:"since,omitempty"`
	// Version is durable.SaveOptions.Version, and Codec durable.Codec.Name.
	Version int           `json:"version,omitempty"`
	Codec   string        `json:"codec"`
	Tables  []TableHeader `json:"tables"`
	// Names has the names that are not UTF-8, and so no text, by the numbers of their tables.
	Names map[int][]byte `json:"names,omitempty"`
}

// A TableHeader describes a table in a backup.
type TableHeader struct {
	Name string `json:"name"`
	// Key and Value are the types, as [reflect.Type.String] names them. KeyShape and ValueShape are
	// their shapes; zero in a backup of differences if the backup before has the table.
	Key        string `json:"key"`
	Value      string `json:"value"`
	KeyShape   Shape  `json:"keyShape,omitzero"`
	ValueShape Shape  `json:"valueShape,omitzero"`
	// ID differs for tables of the same name: when one was closed and made again.
	ID int `json:"id,omitempty"`
	// Closed says that the table was closed: its records go.
	Closed bool `json:"closed,omitempty"`
	// Records counts records and deletions, and Refused those left out.
	Records int `json:"-"`
	Refused int `json:"-"`
}

// Describe returns the header of a table in a backup by a codec.
func Describe(t seam.Table, codec string) TableHeader {
	key, value := t.Types()
	return TableHeader{Name: t.Name(), ID: t.ID(), Key: key.String(), Value: value.String(),
		KeyShape: ShapeOf(key, codec), ValueShape: ShapeOf(value, codec)}
}

// Lost lists, in words, the parts of the saved table t that would be lost in the table is. If t
// lacks a shape, only the same types fit.
func (t TableHeader) Lost(is TableHeader) (lost []string, fits bool) {
	if t.KeyShape.IsZero() || t.ValueShape.IsZero() {
		return nil, t.Key == is.Key && t.Value == is.Value
	}
	lost = append(t.KeyShape.Lost(is.KeyShape, "the key"), t.ValueShape.Lost(is.ValueShape, "the value")...)
	return lost, len(lost) == 0
}

// Text returns the header in JSON.
func (h Header) Text() ([]byte, error) {
	h.Names = map[int][]byte{}
	for i, table := range h.Tables {
		if !utf8.ValidString(table.Name) {
			h.Names[i] = []byte(table.Name)
		}
	}
	return json.Marshal(h)
}

// parse is the reverse of Text.
func (h *Header) parse(text []byte) error {
	if err := json.Unmarshal(text, h); err != nil {
		return err
	}
	for i, name := range h.Names {
		if i < 0 || i >= len(h.Tables) {
			return fmt.Errorf("there is no table %d", i)
		}
		h.Tables[i].Name = string(name)
	}
	return nil
}

// ReadHeader reads the header of a backup, or of a group of a journal, and no further. An error is a
// [*disk.DamageError], or of the reader.
func ReadHeader(from *disk.Reader) (h Header, err error) {
	var text []byte
	for more := true; more; {
		kind, payload, err := from.Frame()
		switch {
		case err != nil:
			return h, err
		case kind != disk.BackupHeader:
			return h, from.Damage("there is no header")
		}
		text, more = append(text, payload...), len(payload) == disk.MaxPayload
	}
	if err := h.parse(text); err != nil {
		return Header{}, from.Damage("the header cannot be read: " + err.Error())
	}
	if h.Epoch > disk.HighestEpoch {
		return Header{}, from.Damage("the epoch is not right")
	}
	return h, nil
}
