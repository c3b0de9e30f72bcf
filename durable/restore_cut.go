package durable

import (
	"encoding/binary"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
)

// commitCounts say which commits the records of a table are of, in differences by saveCommits: for
// each commit, in their order, by how much its epoch is above that of the commit before, and how
// many records it has. The first commit is above [Backup.Since]. So a state between two of the
// commits can be met again, see [LoadOptions].
type commitCounts struct {
	data       []byte
	last, this uint64 // epochs
	n          uint64 // how many records there are of this
}

// add counts a record of a commit.
func (c *commitCounts) add(epoch uint64) {
	if epoch != c.this {
		c.flush()
	}
	c.this = epoch
	c.n++
}

func (c *commitCounts) flush() {
	if c.n > 0 {
		c.data = binary.AppendUvarint(binary.AppendUvarint(c.data, c.this-c.last), c.n)
		c.last, c.n = c.this, 0
	}
}

// counts returns the payload of the frame at the end of a table. If there are so many commits that
// there is no room for them they are left out.
func (r *recordSaver) counts() []byte {
	r.commits.flush()
	list := r.commits.data
	counts := binary.AppendUvarint(nil, uint64(r.saved))
	if len(list)+2*binary.MaxVarintLen64 > disk.MaxPayload {
		list = nil
	}
	if r.refused > 0 || len(list) > 0 {
		counts = binary.AppendUvarint(counts, uint64(r.refused))
	}
	return append(counts, list...)
}

// A cut is where the loading of differences stops, for the state of an epoch in their midst.
type cut struct {
	epoch uint64
	upTo  map[string]int // how many records of each table come before; nil at the end
}

// records returns how many records of a table come before the cut, -1 for all.
func (c *cut) records(table string) int {
	if c.upTo == nil {
		return -1
	}
	return c.upTo[table]
}

// cut finds where the loading is to stop. The state between two commits is not known if a table was
// closed in the midst, if records are moved, or if there are other differences.
func (l *loading) cut() {
	if l.Since == 0 || l.number > 0 || len(l.opts.Then) > 0 ||
		slices.ContainsFunc(l.savedTables, func(t backupfile.TableHeader) bool { return t.Closed || l.moves(t) }) {
		return
	}
	var met []uint64
	for _, at := range l.opts.resume {
		if at.Life == l.DB && l.Since < at.Epoch && at.Epoch < l.Epoch {
			met = append(met, at.Epoch)
		}
	}
	slices.Sort(met)
	for _, e := range slices.Compact(met) {
		l.cuts = append(l.cuts, cut{e, map[string]int{}})
	}
}

// cutTable finds the cuts in a table, which was read. If commitCounts are left out, there are none.
func (l *loading) cutTable(of *backupfile.TableHeader) {
	epoch, n, list := l.Since, 0, l.commits
	for len(list) > 0 {
		above, k := binary.Uvarint(list)
		records, m := binary.Uvarint(list[max(k, 0):])
		if k <= 0 || m <= 0 || records > uint64(of.Records) {
			break
		}
		epoch, list = epoch+above, list[k+m:]
		n += int(records)
		for _, c := range l.cuts {
			if epoch <= c.epoch {
				c.upTo[l.opts.renamed(of.Name)] = n
			}
		}
	}
	if n != of.Records || len(list) > 0 {
		l.cuts = nil
	}
}
