package dump

import (
	"cmp"
	"fmt"

	"github.com/mvccmap/mvccmap/internal/seam/gobtext"
)

type dumpCmd struct {
	Path    string   `arg:"" help:"A backup, or the folder of a journal."`
	Table   []string `help:"Only records of the table of that name; may be given several times." placeholder:"NAME" sep:"none"`
	Partial bool     `help:"If something is damaged print what comes before it. Otherwise nothing is printed."`
}

// Help is the text of --help beside the flags.
func (*dumpCmd) Help() string {
	return "An object a line, with table, key and value. Records come in the order in which they are in " +
		"the files: those of the last backup, and then those that the journal has changed. It reads a " +
		"backup twice, first to see that it is not damaged, and what comes after it three times. It has " +
		"some 40 bytes in memory for each key that the journal has changed. Of a backup of differences, " +
		"deletions are printed too."
}

// A line is the printed form of a record.
type line struct {
	Table   any  `json:"table"`
	Key     any  `json:"key"`
	Value   any  `json:"value,omitempty"`
	Deleted bool `json:"deleted,omitempty"`
}

// Run prints the records.
func (c *dumpCmd) Run(e *env) error {
	s, err := open(e.ctx, c.Path)
	if err != nil {
		return err
	}
	defer s.close()
	if s.damage != nil && !c.Partial {
		return s.damage
	}
	if len(s.parts) == 0 {
		return e.nothing(s)
	}
	st, err := stateOf(s)
	if err == nil {
		err = st.want(c.Table)
	}
	if err == nil {
		err = st.each(func(t *tableState, r *record) error {
			l := line{gobtext.Text(t.Name), r.key, &r.value, r.deleted}
			if r.deleted {
				l.Value = nil
			}
			return e.line(l)
		})
	}
	if st != nil && st.refused > 0 {
		e.note("the codec has refused records, which are not in the files: %d", st.refused)
	}
	return cmp.Or(s.damage, err)
}

// line prints v as JSON.
func (e *env) line(v any) error {
	text, err := jsonOf(v)
	if err == nil {
		_, err = e.out.Write(text)
	}
	return err
}

// nothing says that there is no backup to begin with: it is damaged, or not there yet.
func (e *env) nothing(s *source) error {
	if s.damage == nil {
		e.note("%s has no backup yet", s.path)
	}
	return s.damage
}

func (e *env) printf(format string, args ...any) { fmt.Fprintf(e.out, format, args...) }
