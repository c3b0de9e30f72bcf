package dump

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mvccmap/mvccmap/journal"
)

type checkCmd struct {
	Path string `arg:"" help:"A backup, or the folder of a journal."`
}

// Help is what --help says beside the flags.
func (*checkCmd) Help() string {
	return "Of a journal it checks what Open would: each file, each group of commits, that they " +
		"lead from one epoch to the next, and that all that was acknowledged is there. It also " +
		"decodes the records, in the folder \"before\" too. It ends with 1 if something is damaged " +
		"or missing."
}

// Run checks.
func (c *checkCmd) Run(e *env) error {
	s, err := open(e.ctx, c.Path)
	if err != nil {
		return err
	}
	defer s.close()
	bad, err := e.check(s)
	if err != nil {
		return err
	}
	if s.info != nil && s.info.Before != nil {
		before, err := open(e.ctx, filepath.Join(c.Path, "before"))
		switch {
		case err == nil:
			defer before.close()
			more, err := e.check(before)
			if err != nil {
				return err
			}
			bad += more
		case errors.As(err, new(usageError)): // the journal was closed meanwhile
		default:
			return err
		}
	}
	if bad > 0 {
		return damagef("%s: damage was found", c.Path)
	}
	e.printf("%s: ok\n", c.Path)
	return nil
}

// check checks a source, and prints what is wrong. It returns how many things those are.
func (e *env) check(s *source) (bad int, err error) {
	say := func(err error) {
		bad++
		e.printf("%v\n", err)
	}
	if s.info != nil {
		e.listed(s.path, s.info)
		if s.info.Err != nil {
			say(s.info.Err)
		}
		for _, f := range s.info.Files {
			if f.Err != nil {
				say(f.Err)
			}
		}
	} else if err := s.whole(); isDamage(err) {
		say(err)
		return bad, nil
	} else if err != nil {
		return bad, err
	}
	if bad > 0 || len(s.parts) == 0 {
		return bad, nil
	}
	n, err := e.decoded(s)
	if isDamage(err) {
		say(err)
		err = nil
	} else if err == nil {
		e.printf("%s: %s\n", s.path, n)
	}
	return bad, err
}

// listed prints the files of a journal.
func (e *env) listed(dir string, info *journal.Info) {
	for _, f := range info.Files {
		what := fmt.Sprintf("the state as of epoch %d", f.Epoch)
		if !f.Backup {
			what = fmt.Sprintf("no group after epoch %d", f.Epoch)
			if n := len(f.Groups); n > 0 {
				what = fmt.Sprintf("%s, from epoch %d to %d", plural(int64(n), "group"), f.Epoch,
					f.Groups[n-1].Epoch)
			}
		}
		switch {
		case !f.Used:
			what += "; not needed any more"
		case f.Rest > 0:
			what += fmt.Sprintf("; %s at the end left out", plural(f.Rest, "byte"))
		}
		e.printf("%s: %s, %s\n", filepath.Join(dir, f.Name), plural(f.Bytes, "byte"), what)
	}
	if info.Acknowledged > 0 {
		e.printf("%s: acknowledged up to epoch %d, there up to epoch %d\n", dir, info.Acknowledged,
			info.Epoch)
	}
}

// decoded decodes all records, and says how many there are.
func (e *env) decoded(s *source) (string, error) {
	n := 0
	for i := range s.parts {
		if err := e.ctx.Err(); err != nil {
			return "", err
		}
		b, err := s.reader(i)
		if err != nil {
			return "", err
		}
		if !known(b.Codec) {
			return fmt.Sprintf("the codec %q is not known, so records were not decoded", b.Codec), nil
		}
		for at := range b.Tables {
			if b.Tables[at].Closed {
				continue
			}
			from, err := b.Table(at)
			if err == nil {
				err = records(from, b.Codec, func(*record) error { n++; return s.tick(n) })
			}
			if err != nil {
				return "", s.at(i, err)
			}
		}
	}
	return fmt.Sprintf("records and deletions that were decoded: %d", n), nil
}
