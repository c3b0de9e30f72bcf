package pprofui

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/google/pprof/profile"
)

// Bounds of foreign profiles, which may be any file. Tests lower them.
var (
	MaxText   int64 = 64 << 20  // uncompressed
	MaxMemory int64 = 512 << 20 // as it is read
)

// Read reads a profile that may be of another program.
func Read(data []byte) (*profile.Profile, error) {
	text, err := uncompress(data)
	if err != nil {
		return nil, err
	}
	if m := weigh(text, 0); m > MaxMemory {
		return nil, fmt.Errorf("it would take about %d MB of memory, and at most %d may be",
			m>>20, MaxMemory>>20)
	}
	p, err := profile.ParseUncompressed(text)
	if err == nil {
		err = p.CheckValid()
	}
	if err == nil && len(p.SampleType) == 0 {
		err = errors.New("it does not say what was sampled")
	}
	if err != nil {
		return nil, err
	}
	// No page needs what leads to the files of programs.
	for _, m := range p.Mapping {
		m.File, m.BuildID, m.KernelRelocationSymbol = path.Base(m.File), "", ""
	}
	return p, nil
}

// uncompress returns the uncompressed text, unless it is too large.
func uncompress(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it is not compressed by gzip")
	}
	text, err := io.ReadAll(io.LimitReader(z, MaxText+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > MaxText {
		return nil, fmt.Errorf("it is larger than %d MB uncompressed", MaxText>>20)
	}
	return text, nil
}

// weigh returns about how much memory a profile takes once it is read, rather too
// much than too little: the parser can make hundreds of bytes of an entry of two.
// A text that is no profile weighs little, and the parser says what is wrong. depth
// is 0 for a profile, 1 for a part of one.
func weigh(text []byte, depth int) (total int64) {
	const entry, number = 200, 16 // a structure, and a value of a list
	for len(text) > 0 {
		tag, n := binary.Uvarint(text)
		if n <= 0 {
			return total
		}
		text = text[n:]
		size, skip := uint64(0), 0
		switch tag & 7 {
		case 0:
			_, skip = binary.Uvarint(text)
			total += number
		case 1:
			size = 8
		case 2:
			size, skip = binary.Uvarint(text)
			total += entry
		case 5:
			size = 4
		default:
			return total
		}
		if skip < 0 || size > uint64(len(text)-skip) {
			return total
		}
		body := text[skip : skip+int(size)]
		text = text[skip+int(size):]
		switch field := tag >> 3; {
		case tag&7 != 2:
		case depth == 0 && (field == 2 || field == 4): // samples and locations have lists
			total += weigh(body, depth+1)
		case depth == 0:
			total += int64(len(body))
		default:
			total += number * int64(len(body)) // numbers may take one byte each
		}
	}
	return total
}
