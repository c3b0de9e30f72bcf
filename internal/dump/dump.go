package dump

import (
	"encoding/base64"
	"errors"
	"io"

	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/internal/gobtext"
)

type dumpCmd struct {
	Path    string   `arg:"" help:"A backup, or the folder of a journal."`
	Table   []string `help:"Only records of the table of that name; may be given several times." placeholder:"NAME" sep:"none"`
	Format  string   `help:"The only one is jsonl: an object a line, with table, key and value." enum:"jsonl" default:"jsonl" placeholder:"jsonl"`
	Partial bool     `help:"If something is damaged print what comes before it. Otherwise nothing is printed."`
}

// Help is what --help says beside the flags.
func (*dumpCmd) Help() string {
	return "Records come in the order in which they are in the files: those of the last backup, and " +
		"then those that the journal has changed. It reads a backup twice, first to see that it is " +
		"not damaged, and what comes after it three times. It has some 40 bytes in memory for each key that the journal has changed. Of a " +
		"backup of differences, deletions are printed too."
}

// Run prints the records.
func (c *dumpCmd) Run(e *env) error {
	s, err := open(e.ctx, c.Path)
	if err != nil {
		return err
	}
	defer s.close()
	damage := s.whole()
	if damage != nil && !(c.Partial && isDamage(damage)) {
		return damage
	}
	if len(s.parts) == 0 {
		return e.nothing(s, damage)
	}
	st, err := stateOf(s)
	if err != nil {
		return errors.Join(err, damage)
	}
	if err := st.want(c.Table); err != nil {
		return err
	}
	if !known(st.codec) {
		err = e.raw(st)
	} else {
		err = st.each(func(t *tableState, r *record) error { return e.line(nil, t.Name, r) })
	}
	e.refused(st)
	if damage != nil && (err == nil || isDamage(err)) {
		return damage
	}
	return err
}

// nothing says that there is no backup to begin with: it is damaged, or not there yet.
func (e *env) nothing(s *source, damage error) error {
	if damage == nil {
		e.note("%s has no backup yet", s.path)
	}
	return damage
}

// refused says that records are missing because the codec has refused them.
func (e *env) refused(st *state) {
	if st.refused > 0 {
		e.note("the codec has refused records, which are not in the files: %d", st.refused)
	}
}

// line prints a record. extra are fields that come first.
func (e *env) line(extra []byte, table string, r *record) error {
	line := e.out.AvailableBuffer()
	line = append(append(line, '{'), extra...)
	line = gobtext.AppendText(append(line, `"table":`...), table)
	line = append(append(line, `,"key":`...), r.key...)
	if r.deleted {
		line = append(line, `,"deleted":true}`...)
	} else {
		line = append(append(line, `,"value":`...), r.value...)
		line = append(line, '}')
	}
	_, err := e.out.Write(append(line, '\n'))
	return err
}

// raw prints what another codec has written, in the order of the files.
func (e *env) raw(st *state) error {
	e.note("the codec %q is not known: its bytes are printed in base64, as they are in the files, "+
		"with those of records that were changed or deleted later", st.codec)
	return st.eachTable(func(i int, t *backupfile.Table, _ *tableState) error {
		for {
			data, err := t.Frame()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return st.at(i, err)
			}
			line := gobtext.AppendText([]byte(`{"table":`), t.Name)
			line = base64.StdEncoding.AppendEncode(append(line, `,"base64":"`...), data)
			if _, err := e.out.Write(append(line, "\"}\n"...)); err != nil {
				return err
			}
		}
	})
}
