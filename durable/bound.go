package durable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

// A bound is the least that a folder must have: files up to a number, which lead at least to an
// epoch. It is in a file of its own, overwritten in place whenever something is acknowledged: so a
// missing end of the last journal is noticed too. After a failure of the machine the file may have
// an older bound, or be torn; then nothing is known. Another file in its place is damage.
type bound struct {
	number uint64 // of a journal
	epoch  uint64
	clock  uint64 // the epoch up to which nothing else was committed
	closed bool   // the journal was closed
	life   string // of the database; empty before there were lives
}

const (
	boundName  = "acknowledged" // before the others in a listing: it is copied first
	frameBound = 'a'
	// boundLength is the length of the payload without the life.
	boundLength = 25
)

var boundMagic = disk.Magic([]byte("mvccackn"))

// readBound returns the bound in a folder, a zero one if there is none.
func readBound(dir string) (b bound, err error) {
	path := filepath.Join(dir, boundName)
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return b, err
	}
	kind, payload, err := disk.NewReader(bytes.NewReader(data), boundMagic).Frame()
	if err != nil || kind != frameBound || len(payload) < boundLength {
		begins := append(boundMagic[:], frameBound)
		if !isTorn(data[:min(len(data), len(begins))], begins) {
			return b, fmt.Errorf("%s: %w", path, &DamageError{
				Reason: "it does not begin as what says what was acknowledged should: is it another file?"})
		}
		return b, nil
	}
	number := binary.LittleEndian.Uint64
	b = bound{number(payload), number(payload[8:]), number(payload[16:]), payload[24] != 0,
		string(payload[boundLength:])}
	if max(b.epoch, b.clock) > disk.HighestEpoch { // forged
		return bound{}, nil
	}
	return b, nil
}

// write writes the bound in one piece.
func (b bound) write(to io.WriterAt) error {
	var buf bytes.Buffer
	payload := binary.LittleEndian.AppendUint64(nil, b.number)
	payload = binary.LittleEndian.AppendUint64(payload, b.epoch)
	payload = binary.LittleEndian.AppendUint64(payload, b.clock)
	payload = append(append(payload, 0), b.life...)
	if b.closed {
		payload[24] = 1
	}
	if err := disk.NewWriter(&buf, boundMagic).Frame(frameBound, payload); err != nil {
		return err
	}
	_, err := to.WriteAt(buf.Bytes(), 0)
	return err
}

func openBound(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, boundName), os.O_WRONLY|os.O_CREATE, 0o600)
}
