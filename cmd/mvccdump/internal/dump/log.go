package dump

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/gobtext"
)

type logCmd struct {
	Dir string `arg:"" help:"The folder of a journal."`
}

// Help is the text of --help beside the flags.
func (*logCmd) Help() string {
	return "An object a line, in the order of the commits, with epoch, file, table, change (set, deleted " +
		"or closed), key and value. The commit has the epoch at which it became visible. Where the journal " +
		"does not say which of several commits has changed something, because they were very many, or " +
		"closed a table, it is one with an epoch after since, up to epoch. What came before the last " +
		"backup is not there any more."
}

// A change is the printed form of one.
type change struct {
	Since  uint64          `json:"since"`
	Epoch  uint64          `json:"epoch"`
	File   string          `json:"file"`
	Table  any             `json:"table"`
	Change string          `json:"change"`
	Key    json.RawMessage `json:"key,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
}

// Run prints the changes.
func (c *logCmd) Run(e *env) error {
	s, err := open(e.ctx, c.Dir)
	if err != nil {
		return err
	}
	defer s.close()
	if s.info == nil {
		return errors.New(c.Dir + " is a backup: it does not say which commits have led to it; expected " +
			"the folder of a journal")
	}
	if s.damage != nil || len(s.parts) == 0 {
		return e.nothing(s)
	}
	var codec string // of the backup
	for i := range s.parts {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		b, err := s.reader(i)
		if err != nil {
			return err
		}
		if i == 0 {
			codec = b.Codec
			e.note("%s has the state as of epoch %d; what was committed before is not there",
				s.parts[i].file, b.Epoch)
			continue
		}
		if err := e.group(b, codec, filepath.Base(s.parts[i].file)); err != nil {
			return s.at(i, err)
		}
	}
	return nil
}

// group prints the changes by a group, in the order of its commits.
func (e *env) group(b *backupfile.Reader, codec, file string) error {
	var all []change
	for at, t := range b.Tables {
		c := change{Since: b.Since, Epoch: b.Epoch, File: file, Table: gobtext.Text(t.Name), Change: "closed"}
		if t.Closed {
			all = append(all, c)
			continue
		}
		from, err := b.Table(at)
		if err != nil {
			return err
		}
		first := len(all)
		err = records(from, codec, func(r *record) (err error) {
			if c.Key, err = jsonOf(r.key); err != nil {
				return err
			}
			if c.Change, c.Value = "deleted", nil; !r.deleted {
				c.Change = "set"
				c.Value, err = jsonOf(r.value)
			}
			all = append(all, c)
			return err
		})
		if err != nil {
			return err
		}
		setEpochs(all[first:], from.Commits)
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.Epoch, b.Epoch) })
	for _, c := range all {
		if err := e.line(c); err != nil {
			return err
		}
	}
	return nil
}

// setEpochs gives the changes of a table the epochs of their commits, which stand behind the records.
func setEpochs(list []change, commits []backupfile.Commit) {
	for _, c := range commits {
		for range c.Records {
			list[0].Since, list[0].Epoch = c.Epoch-1, c.Epoch
			list = list[1:]
		}
	}
}
