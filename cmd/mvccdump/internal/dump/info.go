package dump

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
)

type infoCmd struct {
	Path string `arg:"" help:"A backup, or the folder of a journal."`
}

// Help is the text of --help beside the flags.
func (*infoCmd) Help() string {
	return "It reads all of the files, with their checksums, and ends with 1 if something is damaged or " +
		"missing: of a journal it checks what Open would, in the folder \"before\" too. It decodes no " +
		"records: dump does."
}

// Run prints the contents of a backup or journal.
func (c *infoCmd) Run(e *env) error {
	s, err := open(e.ctx, c.Path)
	if err != nil {
		return err
	}
	defer s.close()
	switch {
	case s.info != nil:
		e.journal(s.path, s.info)
		if before := s.info.Before; before != nil {
			e.printf("\nThe files that a program with other types, names or version has left:\n")
			e.journal(filepath.Join(s.path, "before"), before)
			if s.damage == nil {
				return before.Err
			}
		}
	case s.backup != nil:
		e.backup(s.backup, s.parts[0].bytes)
	}
	return s.damage
}

func (e *env) backup(b *backupfile.Reader, size int64) {
	e.printf("backup     format %d, %s\n", b.Format, plural(size, "byte"))
	if b.Since != 0 {
		e.printf("state      the differences from epoch %d to epoch %d, of database %s\n", b.Since,
			b.Epoch, b.DB)
	} else {
		e.printf("state      as of epoch %d, of database %s\n", b.Epoch, b.DB)
	}
	e.printf("codec      %s, version %d of the program's data\n", b.Codec, b.Version)
	var tables []durable.TableInfo
	for _, t := range b.Tables {
		tables = append(tables, durable.TableInfo{TableHeader: t})
	}
	e.tables(tables)
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// journal prints the contents of the folder of one.
func (e *env) journal(dir string, info *durable.Info) {
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
	e.tables(info.Tables)
}

// files lists the files.
func (e *env) files(info *durable.Info) {
	w := tabwriter.NewWriter(e.out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nFILE\tBYTES\tEPOCHS\tGROUPS\t\n")
	for _, f := range info.Files {
		epochs, groups, remark := fmt.Sprint(f.Epoch), "", ""
		if n := len(f.Groups); !f.Backup {
			groups = fmt.Sprint(n)
			if n > 0 {
				epochs = fmt.Sprintf("%d-%d", f.Epoch, f.Groups[n-1].Epoch)
			}
		}
		switch {
		case !f.Used:
			epochs, groups, remark = "", "", "not needed any more"
		case f.Rest > 0:
			remark = plural(f.Rest, "byte") + " at the end left out"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", f.Name, f.Bytes, epochs, groups, remark)
	}
	_ = w.Flush()
}

// tables lists tables, with their types. Only those of a journal have changes since the backup.
func (e *env) tables(list []durable.TableInfo) {
	if len(list) == 0 {
		return
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nTABLE\tIN BACKUP\tCHANGES SINCE\tKEY\tVALUE\n")
	for _, t := range list {
		records := fmt.Sprint(t.Records)
		if t.Closed {
			records = "closed"
		}
		fmt.Fprintf(w, "%q\t%s\t%d\t%s\t%s\n", t.Name, records, t.Changes, shapeText(t.KeyShape, t.Key),
			shapeText(t.ValueShape, t.Value))
	}
	_ = w.Flush()
	for _, t := range list {
		if t.Refused > 0 {
			e.printf("%q: the codec has refused %s\n", t.Name, plural(int64(t.Refused), "record"))
		}
	}
}

// shapeText is the name of a type, and its parts if they say more.
func shapeText(s backupfile.Shape, name string) string {
	if text := s.String(); text != "" && text != strings.ReplaceAll(name, " {}", "{}") {
		return name + " = " + text
	}
	return name
}
