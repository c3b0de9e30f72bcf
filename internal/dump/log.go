package dump

import (
	"bytes"
	"cmp"
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
	return "Commits come in their order, each with the epoch at which it became visible. Where the " +
		"journal does not say which of several commits has changed something, because they were very many, or " +
		"closed a table, 7-9 stands for the epochs 7 to 9. What came before the last backup is not there any more."
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
	// of the group: what is printed when all of it was read
	lines   []logLine
	commits []backupfile.Commit // of the table that is being read, what is left
}

// A logLine is what is printed of one change.
type logLine struct {
	epoch uint64
	text  []byte
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
		l.st.begin(l.b)
		if i == 0 {
			l.st.codec = b.Codec
			l.note("%s has the state as of epoch %d; what was committed before is not there", l.file,
				b.Epoch)
		}
		wanted := i > 0 && b.Epoch > l.cmd.Since
		var commits map[int][]backupfile.Commit
		if wanted {
			if commits, err = l.commitsOf(i); err != nil {
				return l.st.at(i, err)
			}
		}
		err = l.group(b, wanted, commits)
		if err = errors.Join(err, l.print()); err != nil { // what there is, with --partial
			return l.st.at(i, err)
		}
	}
	return nil
}

// commitsOf returns the commits of the tables of a group: they stand behind the records.
func (l *logging) commitsOf(part int) (map[int][]backupfile.Commit, error) {
	b, err := l.st.reader(part)
	if err != nil {
		return nil, err
	}
	commits := map[int][]backupfile.Commit{}
	for {
		t, err := b.Next()
		if errors.Is(err, io.EOF) {
			return commits, nil
		}
		if err == nil {
			err = t.Skip()
		}
		if err != nil {
			return nil, err
		}
		commits[t.At] = t.Commits
	}
}

// print prints the changes of a group in the order of the commits.
func (l *logging) print() error {
	slices.SortStableFunc(l.lines, func(a, b logLine) int { return cmp.Compare(a.epoch, b.epoch) })
	for _, line := range l.lines {
		if _, err := l.out.Write(line.text); err != nil {
			return err
		}
	}
	l.lines = nil
	return nil
}

// group notes the changes of a group, if it is wanted.
func (l *logging) group(
	b *backupfile.Reader, wanted bool, commits map[int][]backupfile.Commit,
) error {
	for at := range b.Tables {
		t := &b.Tables[at]
		l.seen[t.Name] = true
		l.commits = commits[at]
		wanted := wanted && (len(l.cmd.Table) == 0 || slices.Contains(l.cmd.Table, t.Name))
		if t.Closed {
			if wanted && len(l.keys) == 0 {
				if err := l.line(t.Name, "closed", nil, nil); err != nil {
					return err
				}
			}
			continue
		}
		if !wanted {
			continue
		}
		from, err := b.Table(at)
		if err != nil {
			return err
		}
		if !known(l.st.codec) {
			l.commits = nil
			if err = from.Skip(); err == nil {
				err = l.line(t.Name, "changed", fmt.Appendf(nil, "%d", from.Records), nil)
			}
		} else {
			err = records(from, l.st.codec, func(r *record) error { return l.record(t.Name, r) })
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
	for len(l.commits) > 0 && l.commits[0].Records == 0 {
		l.commits = l.commits[1:]
	}
	if len(l.commits) > 0 {
		defer func() { l.commits[0].Records-- }()
		if l.commits[0].Epoch <= l.cmd.Since {
			return nil
		}
	}
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

// line notes a change.
func (l *logging) line(table, change string, key, value []byte) error {
	since, epoch := l.b.Since, l.b.Epoch
	if len(l.commits) > 0 {
		epoch = l.commits[0].Epoch
		since = epoch - 1
	}
	epochs := fmt.Sprint(epoch)
	if since+1 < epoch {
		epochs = fmt.Sprintf("%d-%d", since+1, epoch)
	}
	if l.cmd.Format == "text" {
		l.lines = append(l.lines, logLine{epoch, fmt.Appendf(nil, "%-12s %-16s %-7s %s\n", epochs,
			tableName(table), change, key)})
		return nil
	}
	text := fmt.Appendf(nil, `{"since":%d,"epoch":%d,"file":"%s","table":`, since, epoch, l.file)
	text = gobtext.AppendText(text, table)
	text = fmt.Appendf(text, `,"change":"%s"`, change)
	if key != nil {
		text = append(append(text, `,"key":`...), key...)
	}
	if value != nil {
		text = append(append(text, `,"value":`...), value...)
	}
	l.lines = append(l.lines, logLine{epoch, append(text, "}\n"...)})
	return nil
}
