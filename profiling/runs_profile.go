package profiling

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"

	"github.com/google/pprof/profile"
)

// minusShare in the path of a difference scales its base to the same total.
const minusShare = "minus-share"

// Bounds of the profiles of saved runs, which may be any file. Tests lower the last
// two.
const maxProfileBytes = 16 << 20 // as it is saved

var (
	maxProfileText   int64 = 64 << 20  // uncompressed
	maxProfileMemory int64 = 512 << 20 // as it is read
)

// runProfile shows a page of a profile of a run, or of what it has more than that
// of another run.
func (s *service) runProfile(w http.ResponseWriter, r *http.Request) {
	run, file := r.PathValue("run"), r.PathValue("file")
	base, baseFile := r.PathValue("base"), r.PathValue("basefile")
	view, minus := r.PathValue("view"), r.PathValue("minus")
	switch {
	case minus != "" && minus != "minus" && minus != minusShare:
		writeError(w, refuse(http.StatusNotFound, "nothing at %s", r.URL.Path))
		return
	case view == "download" && minus != "":
		writeError(w, refuse(http.StatusNotImplemented,
			"a difference is not stored: download both profiles and run go tool pprof -diff_base"))
		return
	case minus != "" && run == base && file == baseFile:
		writeError(w, refuse(http.StatusBadRequest, "a profile does not differ from itself: choose two"))
		return
	}
	names := []string{run, file}
	if minus != "" {
		names = append(names, base, baseFile)
	}
	var data, baseData []byte
	read := func() error {
		return s.source(r, names, func() (err error) {
			if data, err = s.cfg.Runs.RunProfile(run, file); err == nil && minus != "" {
				baseData, err = s.cfg.Runs.RunProfile(base, baseFile)
			}
			return err
		})
	}
	if view == "download" {
		if err := read(); err != nil {
			writeError(w, err)
			return
		}
		attach(w, path.Base(run+"-"+file))
		w.Write(data)
		return
	}
	s.showView(w, r, view, func() (p, q *profile.Profile, err error) {
		if err = read(); err != nil { // only now: who waits for a turn takes no memory
			return nil, nil, err
		}
		if p, err = readForeign(run, file, data); err != nil {
			return nil, nil, err
		}
		if minus == "" {
			if isEmpty(p) {
				err = refuse(http.StatusNotFound, "nothing was sampled in profile %s of run %s", file, run)
			}
			return p, nil, err
		}
		if q, err = readForeign(base, baseFile, baseData); err != nil {
			return nil, nil, err
		}
		if err := checkComparable(p, q); err != nil {
			return nil, nil, err
		}
		if minus == minusShare {
			scaleTo(q, p)
		}
		p.Comments = append(p.Comments, fmt.Sprintf("Difference: run %s minus run %s", run, base))
		return p, q, nil
	})
}

// readForeign reads a profile that this program need not have made.
func readForeign(run, file string, data []byte) (*profile.Profile, error) {
	broken := func(err error) error {
		return refuse(http.StatusUnprocessableEntity, "profile %s of run %s cannot be read: %v", file, run, err)
	}
	if len(data) > maxProfileBytes {
		return nil, broken(fmt.Errorf("it is larger than %d MB", maxProfileBytes>>20))
	}
	text, err := uncompress(data)
	if err != nil {
		return nil, broken(err)
	}
	if m := weigh(text, 0); m > maxProfileMemory {
		return nil, broken(fmt.Errorf("it would take about %d MB of memory, and at most %d may be", m>>20, maxProfileMemory>>20))
	}
	p, err := profile.ParseUncompressed(text)
	if err == nil {
		err = p.CheckValid()
	}
	if err == nil && len(p.SampleType) == 0 {
		err = errors.New("it does not say what was sampled")
	}
	if err != nil {
		return nil, broken(err)
	}
	// They lead to files of programs, which no page needs.
	for _, m := range p.Mapping {
		m.File, m.BuildID, m.KernelRelocationSymbol = path.Base(m.File), "", ""
	}
	return p, nil
}

// uncompress returns what was compressed, as far as it is not too much.
func uncompress(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it is not compressed by gzip")
	}
	text, err := io.ReadAll(io.LimitReader(z, maxProfileText+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > maxProfileText {
		return nil, fmt.Errorf("it is larger than %d MB uncompressed", maxProfileText>>20)
	}
	return text, nil
}

// weigh returns about how much memory a profile takes once it is read, rather too
// much than too little: two bytes can be an entry of which the parser makes
// hundreds. What is no profile weighs little, and the parser says what is wrong.
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

// checkComparable returns an error if one profile cannot be taken from the other.
func checkComparable(p, q *profile.Profile) error {
	same := func(a, b *profile.ValueType) bool { return a.Type == b.Type && a.Unit == b.Unit }
	if !slices.EqualFunc(p.SampleType, q.SampleType, same) {
		return refuse(http.StatusBadRequest, "the profiles are of different kinds: only equal kinds can be compared")
	}
	if isEmpty(p) && isEmpty(q) {
		return refuse(http.StatusNotFound, "nothing was sampled in either profile")
	}
	return nil
}

// dropUnshared takes the file names of a function out of both profiles if one of
// them has none for it: the flame graph tells functions apart by their files, too,
// and profiles of two builds of a program would have nothing in common.
func dropUnshared(p, q *profile.Profile) {
	nameless := map[string]bool{}
	for _, list := range [][]*profile.Function{p.Function, q.Function} {
		for _, f := range list {
			if f.Filename == "" {
				nameless[f.Name] = true
			}
		}
	}
	for _, list := range [][]*profile.Function{p.Function, q.Function} {
		for _, f := range list {
			if nameless[f.Name] {
				f.Filename = ""
			}
		}
	}
}
