package dump

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/internal/disk"
	"github.com/mvccmap/mvccmap/internal/gobtext"
	"github.com/mvccmap/mvccmap/mvcc"
)

type compactCmd struct {
	Dir    string `arg:"" help:"The folder of a journal."`
	Output string `short:"o" required:"" help:"The file of the backup. There must be none of that name." placeholder:"FILE"`
}

// Help is what --help says beside the flags.
func (*compactCmd) Help() string {
	return "The backup is what DB.SaveFile would have written as of the last commit; DB.LoadFile " +
		"loads it. Records are copied as they are. It reads the backup of the journal twice, and the groups " +
		"twice, and once more for each table that they have changed."
}

// Run writes the backup.
func (c *compactCmd) Run(e *env) error {
	st, err := whole(e, c.Dir, nil)
	if err != nil {
		return err
	}
	defer st.close()
	if st.info == nil {
		return usagef("%s is a backup already; expected the folder of a journal", c.Dir)
	}
	if err := c.outside(); err != nil {
		return err
	}
	records, size, err := c.write(st)
	if err != nil {
		return err
	}
	e.refused(st)
	e.printf("%s: the state as of epoch %d, %s, %s\n", c.Output, st.epoch,
		plural(int64(records), "record"), plural(size, "byte"))
	return nil
}

// outside checks that the file is not in the folder, and does not exist.
func (c *compactCmd) outside() error {
	if _, err := os.Lstat(c.Output); err == nil {
		return usagef("--output: %s exists; expected a new name", c.Output)
	}
	journal, err := os.Stat(c.Dir)
	if err != nil {
		return err
	}
	above, err := filepath.Abs(filepath.Dir(c.Output))
	if err == nil {
		above, err = filepath.EvalSymlinks(above)
	}
	if err != nil {
		return usagef("--output: %s: %w", filepath.Dir(c.Output), cause(err))
	}
	for dir := above; ; dir = filepath.Dir(dir) {
		if is, err := os.Stat(dir); err == nil && os.SameFile(is, journal) {
			return usagef("--output: %s is in the folder of the journal, which is left as it is; "+
				"expected a file elsewhere", c.Output)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// write writes a file beside it first, so that there is a whole one or none.
func (c *compactCmd) write(st *state) (records int, size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(c.Output), filepath.Base(c.Output)+".*.tmp")
	if err != nil {
		return 0, 0, err
	}
	records, err = compact(st, f)
	var is os.FileInfo
	if err == nil {
		is, err = f.Stat()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(f.Name(), c.Output)
	}
	if gone := os.Remove(f.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return 0, 0, err
	}
	return records, is.Size(), disk.SyncFolder(filepath.Dir(c.Output))
}

// rename gives a file its name. Where there are links it does not replace one that has come
// meanwhile.
func rename(from, to string) error {
	err := os.Link(from, to)
	if err != nil && !errors.Is(err, os.ErrExist) {
		err = os.Rename(from, to)
	}
	return err
}

// compact writes a backup of a state.
func compact(st *state, w io.Writer) (records int, err error) {
	b := mvcc.Backup{DB: st.db, Epoch: st.epoch, Version: st.version, Codec: st.codec}
	for _, t := range st.tables {
		b.Tables = append(b.Tables, t.BackupTable)
	}
	to, err := backupfile.NewWriter(w, b)
	if err != nil {
		return 0, err
	}
	st.refused = 0
	begin, err := st.reader(0)
	if err != nil {
		return 0, err
	}
	for _, t := range st.tables {
		c := &copying{state: st, table: t, to: to}
		if err := to.Table(t.Name); err != nil {
			return 0, err
		}
		if err := c.all(begin); err != nil {
			return 0, err
		}
		if err := to.EndTable(c.records); err != nil {
			return 0, err
		}
		records += c.records
	}
	return records, to.End()
}

// A copying copies the records of a table, as the codec has written them. What gob has defined in a
// stream comes along. A stream whose definitions agree with those of the streams before it goes on
// in the same one, as it would from one encoder.
type copying struct {
	*state
	table   *tableState
	to      *backupfile.Writer
	records int
	from    []gobtext.Def    // those of the stream that is read, so far
	has     map[int64][]byte // those of the stream that is written
}

// all copies what the parts have of a table. begin is the first one, of which the tables before
// this one were read.
func (c *copying) all(begin *backupfile.Reader) error {
	c.has = map[int64][]byte{}
	for _, p := range c.table.parts {
		b := begin
		if p.part > 0 {
			var err error
			if b, err = c.reader(p.part); err != nil {
				return err
			}
		}
		from, err := b.Table(p.at)
		if err == nil {
			err = c.state.records(c.table, p.part, from, c.record)
		}
		if err != nil {
			return c.at(p.part, err)
		}
	}
	return nil
}

func (c *copying) record(r *record, lives bool) error {
	if r.anew {
		c.from = nil
	}
	c.from = append(c.from, r.defs...)
	if lives {
		if err := c.put(r); err != nil {
			return err
		}
	}
	c.from = append(c.from, r.inner...)
	return nil
}

// put writes a record, with the definitions that are not there yet.
func (c *copying) put(r *record) error {
	if c.conflicts(r) {
		clear(c.has)
		if err := c.to.Anew(); err != nil {
			return err
		}
	}
	if _, err := c.to.Write(r.repairs); err != nil {
		return err
	}
	for _, d := range c.from {
		if _, has := c.has[d.ID]; has {
			continue
		}
		c.has[d.ID] = d.Raw
		if _, err := c.to.Write(d.Raw); err != nil {
			return err
		}
	}
	for _, d := range r.inner {
		c.has[d.ID] = d.Raw
	}
	c.records++
	_, err := c.to.Write(r.raw)
	return err
}

// conflicts reports whether a decoder would not take the record after what is there: it would meet
// a definition twice, or another one of the same number.
func (c *copying) conflicts(r *record) bool {
	for _, d := range r.inner {
		if _, has := c.has[d.ID]; has {
			return true
		}
	}
	for _, d := range c.from {
		if raw, has := c.has[d.ID]; has && !bytes.Equal(raw, d.Raw) {
			return true
		}
	}
	return false
}
