package dump

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

type infoCmd struct {
	Path string `arg:"" help:"A backup, or the folder of a journal."`
}

// Help is what --help says beside the flags.
func (*infoCmd) Help() string {
	return "It reads all of the files, with their checksums, and decodes no records."
}

// Run prints what is in a backup or journal.
func (c *infoCmd) Run(e *env) error {
	s, err := open(e.ctx, c.Path)
	if err != nil {
		return err
	}
	defer s.close()
	if s.info != nil {
		e.journal(s.path, s.info)
		if s.info.Err != nil {
			return damaged(s.info.Err)
		}
		return nil
	}
	b, err := s.reader(0)
	if err != nil {
		return err
	}
	for err == nil {
		if err = e.ctx.Err(); err == nil {
			_, err = b.Next()
		}
	}
	if errors.Is(err, io.EOF) {
		err = b.End()
	}
	e.printf("backup     format %d, %s\n", b.Format, plural(s.size, "byte"))
	if b.Since != 0 {
		e.printf("state      the differences from epoch %d to epoch %d, of database %s\n", b.Since,
			b.Epoch, b.DB)
	} else {
		e.printf("state      as of epoch %d, of database %s\n", b.Epoch, b.DB)
	}
	e.printf("codec      %s, version %d of the program's data\n", b.Codec, b.Version)
	var tables []journal.TableInfo
	for _, t := range b.Tables {
		tables = append(tables, journal.TableInfo{BackupTable: t})
	}
	e.tables(tables, false)
	return s.at(0, err)
}

func (e *env) printf(format string, args ...any) { fmt.Fprintf(e.out, format, args...) }

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// journal prints what is in the folder of one.
func (e *env) journal(dir string, info *journal.Info) {
	e.printf("journal    %s\n", dir)
	if info.DB != "" {
		e.printf("state      as of epoch %d, of database %s\n", info.Epoch, info.DB)
		for i, life := range info.Lives {
			if i > 0 {
				e.printf("goes on    from epoch %d in another life of it, %s\n", life.Epoch, life.Life)
			}
		}
		e.printf("codec      %s, version %d of the program's data\n", info.Codec, info.Version)
	} else {
		e.printf("state      none: there is no backup that can be read\n")
	}
	switch {
	case info.Acknowledged == 0:
		e.printf("on disk    not known\n")
	case info.Closed:
		e.printf("on disk    up to epoch %d; the journal was closed\n", info.Acknowledged)
	default:
		e.printf("on disk    up to epoch %d at least; the journal is open, or was not closed\n",
			info.Acknowledged)
	}
	if info.Incomplete > 0 {
		e.printf("left out   %s at the end: a group that is being written, or that a crash has torn\n",
			plural(info.Incomplete, "byte"))
	}
	for _, name := range info.Unfinished {
		e.printf("unfinished %s: a backup that is being taken, or what a crash has left of one\n", name)
	}
	e.files(info)
	e.tables(info.Tables, true)
	if info.Before != nil {
		e.printf("\nWhat the program has found at its start, until it closes the journal:\n")
		e.journal(filepath.Join(dir, "before"), info.Before)
	}
}

// files lists the files.
func (e *env) files(info *journal.Info) {
	w := tabwriter.NewWriter(e.out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nFILE\tBYTES\tEPOCHS\tGROUPS\t\n")
	for _, f := range info.Files {
		epochs, groups, what := fmt.Sprint(f.Epoch), "", ""
		if n := len(f.Groups); !f.Backup {
			groups = fmt.Sprint(n)
			if n > 0 {
				epochs = fmt.Sprintf("%d-%d", f.Epoch, f.Groups[n-1].Epoch)
			}
		}
		switch {
		case f.Err != nil:
			what = "cannot be read; it is not needed"
		case !f.Used:
			what = "not needed any more"
		case f.Rest > 0:
			what = plural(f.Rest, "byte") + " at the end left out"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", f.Name, f.Bytes, epochs, groups, what)
	}
	_ = w.Flush()
}

// tables lists tables, with their types.
func (e *env) tables(list []journal.TableInfo, changes bool) {
	if len(list) == 0 {
		return
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 3, ' ', 0)
	head := "\nTABLE\tRECORDS\t"
	if changes {
		head = "\nTABLE\tIN BACKUP\tCHANGES SINCE\t"
	}
	fmt.Fprintf(w, "%sKEY\tVALUE\n", head)
	for _, t := range list {
		counts := fmt.Sprint(t.Records)
		if changes {
			counts += fmt.Sprintf("\t%d", t.Changes)
		}
		if t.Closed {
			counts = "closed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", tableName(t.Name), counts, shapeText(t.KeyShape, t.Key),
			shapeText(t.ValueShape, t.Value))
	}
	_ = w.Flush()
	for _, t := range list {
		if t.Refused > 0 {
			e.printf("%s: the codec has refused %s\n", tableName(t.Name), plural(int64(t.Refused), "record"))
		}
	}
}

// tableName is a name as it is, if that is one word.
func tableName(name string) string {
	if quoted := fmt.Sprintf("%q", name); name == "" || strings.ContainsAny(name, " \t") ||
		quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// shapeText is the name of a type, and what it is made of if that says more.
func shapeText(s mvcc.Shape, name string) string {
	if text := s.String(); text != "" && text != name && !sameName(text, name) {
		return name + " = " + text
	}
	return name
}

// sameName reports whether a shape is what Go calls the same, such as []uint8.
func sameName(shape, name string) bool {
	return strings.ReplaceAll(name, " {}", "{}") == shape
}
