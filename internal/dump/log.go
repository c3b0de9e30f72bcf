package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/internal/gobtext"
	"github.com/mvccmap/mvccmap/mvcc"
)

type logCmd struct {
	Dir     string   `arg:"" help:"The folder of a journal."`
	Since   uint64   `help:"Only commits of later epochs." placeholder:"EPOCH"`
	Table   []string `help:"Only changes of the table of that name; may be given several times." placeholder:"NAME" sep:"none"`
	Key     []string `help:"Only changes of that key, as it is printed; text also without quotation marks. May be given several times." placeholder:"KEY" sep:"none"`
	Format  string   `help:"text has epochs, table, change and key of each change; jsonl is an object a line, also with value and file." enum:"text,jsonl" default:"text" placeholder:"text|jsonl"`
	Partial bool     `help:"If something is damaged print what comes before it. Otherwise nothing is printed."`
}

// Help is what --help says beside the flags.
func (*logCmd) Help() string {
	return "A journal has groups of commits: what is printed as 7-9 was changed by the commits of " +
		"the epochs 7 to 9, table by table; which change is of which of them is not in the file. What came " +
		"before the last backup is not there any more."
}

// Run prints the changes.
func (c *logCmd) Run(e *env) error {
	s, err := open(e.ctx, c.Dir)
	if err != nil {
		return err
	}
	defer s.close()
	if s.info == nil {
		return usagef("%s is a backup: it does not say which commits have led to it; "+
			"expected the folder of a journal", c.Dir)
	}
	damage := s.whole()
	if damage != nil && !c.Partial {
		return damage
	}
	if len(s.parts) == 0 {
		return e.nothing(s, damage)
	}
	l := &logging{env: e, st: &state{source: s}, cmd: c, seen: map[string]bool{}}
	if err := l.run(); err != nil {
		return err
	}
	for _, name := range c.Table {
		if !l.seen[name] && damage == nil {
			return usagef("--table: there is no table %q in the journal; expected one of %s", name,
				list(slices.Sorted(maps.Keys(l.seen))))
		}
	}
	return damage
}

// A logging prints the changes of groups.
type logging struct {
	*env
	st   *state
	cmd  *logCmd
	keys []any
	seen map[string]bool // the names of tables
	file string
	b    *mvcc.Backup // the group
}

func (l *logging) run() error {
	for _, key := range l.cmd.Key {
		l.keys = append(l.keys, key) // text as it is
		if v, err := parsed([]byte(key)); err == nil {
			l.keys = append(l.keys, v)
		}
	}
	for i := range l.st.parts {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		b, err := l.st.reader(i)
		if err != nil {
			return err
		}
		l.file, l.b = l.st.parts[i].file, &b.Backup
		if i == 0 {
			l.st.codec = b.Codec
			l.note("%s has the state as of epoch %d; what was committed before is not there", l.file,
				b.Epoch)
		}
		if err := l.group(b, i > 0 && b.Epoch > l.cmd.Since); err != nil {
			return l.st.at(i, err)
		}
	}
	return nil
}

// group prints a group, if it is wanted.
func (l *logging) group(b *backupfile.Reader, wanted bool) error {
	for at := range b.Tables {
		t := &b.Tables[at]
		l.seen[t.Name] = true
		wanted := wanted && (len(l.cmd.Table) == 0 || slices.Contains(l.cmd.Table, t.Name))
		if t.Closed {
			l.st.leave(t)
			if wanted && len(l.keys) == 0 {
				if err := l.line(t.Name, "closed", nil, nil); err != nil {
					return err
				}
			}
			continue
		}
		is := l.st.enter(t)
		if !wanted {
			continue
		}
		from, err := b.Table(at)
		if err != nil {
			return err
		}
		if !known(l.st.codec) {
			if err = from.Skip(); err == nil {
				err = l.line(t.Name, "changed", fmt.Appendf(nil, "%d", from.Records), nil)
			}
		} else {
			err = records(from, l.st.codec, is.shapes, func(r *record) error { return l.record(t.Name, r) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parsed is what JSON stands for.
func parsed(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows")
		}
	}
	return v, err
}

func (l *logging) record(table string, r *record) error {
	if len(l.keys) > 0 {
		key, err := parsed(r.key)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(l.keys, func(want any) bool { return reflect.DeepEqual(key, want) }) {
			return nil
		}
	}
	if r.deleted {
		return l.line(table, "deleted", r.key, nil)
	}
	return l.line(table, "set", r.key, r.value)
}

// line prints a change.
func (l *logging) line(table, change string, key, value []byte) error {
	epochs := fmt.Sprint(l.b.Epoch)
	if first := l.b.Since + 1; first < l.b.Epoch {
		epochs = fmt.Sprintf("%d-%d", first, l.b.Epoch)
	}
	if l.cmd.Format == "text" {
		_, err := fmt.Fprintf(l.out, "%-12s %-16s %-7s %s\n", epochs, tableName(table), change, key)
		return err
	}
	text := fmt.Appendf(nil, `{"since":%d,"epoch":%d,"file":"%s","table":`, l.b.Since, l.b.Epoch,
		l.file)
	text = gobtext.AppendText(text, table)
	text = fmt.Appendf(text, `,"change":"%s"`, change)
	if key != nil {
		text = append(append(text, `,"key":`...), key...)
	}
	if value != nil {
		text = append(append(text, `,"value":`...), value...)
	}
	_, err := l.out.Write(append(text, "}\n"...))
	return err
}
