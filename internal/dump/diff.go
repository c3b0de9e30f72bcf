package dump

import (
	"fmt"

	"github.com/mvccmap/mvccmap/internal/gobtext"
)

type diffCmd struct {
	From     string   `arg:"" name:"a" help:"A backup, or the folder of a journal."`
	To       string   `arg:"" name:"b" help:"Another one."`
	Table    []string `help:"Only records of the table of that name; may be given several times." placeholder:"NAME" sep:"none"`
	ExitCode bool     `help:"Exit with 3 if there are differences."`
}

// Help is what --help says beside the flags.
func (*diffCmd) Help() string {
	return "Prints an object a line: first what was added, then what was removed, then what was " +
		"changed, with both values. Keys and values are compared as they are printed. It reads both " +
		"three times, and once more for each further 64 MB of values that were changed. It has some 100 bytes in " +
		"memory for each record of A, and no values but those 64 MB."
}

// budget is how many bytes of values are in memory. Tests have less.
var budget = 64 << 20

// What has become of a record of A.
const (
	unseen byte = iota // in B
	same
	changed
	held // its value is in memory
	done
)

type compared struct {
	value  digest
	become byte
}

// A recordKey tells a record by its table and the digest of its key.
type recordKey struct {
	table string
	key   digest
}

// Run prints the differences.
func (c *diffCmd) Run(e *env) error {
	a, err := whole(e, c.From, c.Table)
	if err != nil {
		return err
	}
	defer a.close()
	b, err := whole(e, c.To, c.Table)
	if err != nil {
		return err
	}
	defer b.close()
	if len(c.Table) > 0 {
		if err := wantEither(a, b, c.Table); err != nil {
			return err
		}
	}
	d := &differing{env: e, a: a, b: b, records: map[recordKey]compared{}}
	if err := d.run(); err != nil {
		return err
	}
	if c.ExitCode && d.any {
		return errDiffer
	}
	return nil
}

// whole opens a source that is whole, and has records that can be told apart.
func whole(e *env, path string, tables []string) (*state, error) {
	s, err := open(e.ctx, path)
	if err != nil {
		return nil, err
	}
	st := &state{}
	if err = s.whole(); err == nil {
		st, err = stateOf(s)
	}
	switch {
	case err != nil:
	case len(s.parts) == 0:
		err = fmt.Errorf("%s has no backup yet", path)
	case !known(st.codec):
		err = fmt.Errorf("%s: the codec %q is not known, so its records cannot be told apart", path,
			st.codec)
	case st.since != 0:
		err = usagef("%s has only the differences to another backup, of epoch %d; "+
			"expected a whole one", path, st.since)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return st, nil
}

// wantEither restricts both to tables that one of them must have.
func wantEither(a, b *state, names []string) error {
	for _, name := range names {
		if a.table(name) == nil && b.table(name) == nil {
			return b.want([]string{name})
		}
	}
	a.only(names)
	b.only(names)
	return nil
}

// A differing compares two sources.
type differing struct {
	*env
	a, b    *state
	records map[recordKey]compared
	any     bool // there are differences
}

func (d *differing) run() error {
	d.tables()
	err := d.a.each(func(t *tableState, r *record) error {
		d.records[recordKey{t.Name, keyDigest(r.key)}] = compared{value: digestOf(r.value)}
		return nil
	})
	if err != nil {
		return err
	}
	var left int // that were changed, and are not printed yet
	err = d.b.each(func(t *tableState, r *record) error {
		key := recordKey{t.Name, keyDigest(r.key)}
		was, there := d.records[key]
		switch {
		case !there:
			return d.print("added", t, r)
		case was.value == digestOf(r.value):
			was.become = same
		default:
			was.become = changed
			left++
		}
		d.records[key] = was
		return nil
	})
	for first := true; err == nil && (first || left > 0); first = false {
		err = d.round(first, &left)
	}
	return err
}

// round prints what was removed, if it is the first one, and changes, as many as fit into memory.
func (d *differing) round(first bool, left *int) error {
	values, size := map[recordKey][]byte{}, 0
	err := d.a.each(func(t *tableState, r *record) error {
		key := recordKey{t.Name, keyDigest(r.key)}
		was := d.records[key]
		switch {
		case first && was.become == unseen:
			return d.print("removed", t, r)
		case was.become == changed && (size == 0 || size+len(r.value) <= budget):
			values[key] = r.value
			size += len(r.value)
			was.become = held
			d.records[key] = was
		}
		return nil
	})
	if err != nil || *left == 0 {
		return err
	}
	return d.b.each(func(t *tableState, r *record) error {
		key := recordKey{t.Name, keyDigest(r.key)}
		was := d.records[key]
		if was.become != held {
			return nil
		}
		was.become = done
		d.records[key] = was
		*left--
		return d.change(t, r, values[key])
	})
}

func (d *differing) print(change string, t *tableState, r *record) error {
	d.any = true
	return d.line([]byte(`"change":"`+change+`",`), t.Name, r)
}

func (d *differing) change(t *tableState, r *record, from []byte) error {
	d.any = true
	line := gobtext.AppendText([]byte(`{"change":"changed","table":`), t.Name)
	line = append(append(line, `,"key":`...), r.key...)
	line = append(append(line, `,"from":`...), from...)
	line = append(append(line, `,"to":`...), r.value...)
	_, err := d.out.Write(append(line, "}\n"...))
	return err
}

// tables prints which tables only one of them has, and notes types that differ.
func (d *differing) tables() {
	print := func(change, name string) {
		d.any = true
		line := gobtext.AppendText([]byte(`{"change":"`+change+`","table":`), name)
		_, _ = d.out.Write(append(line, "}\n"...)) // an error stays
	}
	for _, t := range d.b.tables {
		was := d.a.table(t.Name)
		switch {
		case was == nil:
			print("added", t.Name)
		case typeText(was) != typeText(t):
			d.note("table %q: the types differ: %s, and %s", t.Name, typeText(was), typeText(t))
		}
	}
	for _, t := range d.a.tables {
		if d.b.table(t.Name) == nil {
			print("removed", t.Name)
		}
	}
}
