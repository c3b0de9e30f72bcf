package pprofui

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/google/pprof/profile"
)

// MaxText bounds the uncompressed size of a foreign profile, which may be any file: the parser can
// make some hundred bytes of an entry of two bytes. Tests lower it.
var MaxText int64 = 8 << 20

// Read reads a profile that may be of another program.
func Read(data []byte) (*profile.Profile, error) {
	text, err := uncompress(data)
	if err != nil {
		return nil, err
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
	// No page needs the folders, build IDs and symbols by which files of programs are found.
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
