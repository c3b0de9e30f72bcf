package journal

import (
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// progressLines is how often the logger is told how far Open or Load has got.
const progressLines = 5 * time.Second

// A progress counts the records and bytes that Open or Load has read. Its methods are called by the
// goroutine of these.
type progress struct {
	before      counted // of the backup and groups that were read to their end
	now         atomic.Pointer[counted]
	filesLength int64
}

type counted struct {
	records int
	read    int64
}

// expect notes how long the files are that will be read.
func (p *progress) expect(files []FileInfo) {
	p.before, p.filesLength = counted{}, 0
	for _, f := range files {
		if f.Used {
			p.filesLength += f.Bytes
		}
	}
	p.reading(0, 0)
}

// reading notes how far the backup or group that is being read has got.
func (p *progress) reading(records int, read int64) {
	p.now.Store(&counted{p.before.records + records, p.before.read + read})
}

// readAll notes that a backup or group was loaded, if it was.
func (p *progress) readAll(b mvcc.Backup, err error) {
	if err == nil {
		p.before.records += b.Records
		p.before.read += b.Bytes
		p.reading(0, 0)
	}
}

// lines has the logger told until the function that it returns is called.
func (j *Journal) lines() (end func()) {
	ended, filesLength := make(chan struct{}), j.progress.filesLength
	go func() {
		start, ticks := time.Now(), time.NewTicker(progressLines)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticks.C:
			}
			c := j.progress.now.Load()
			j.logger().Info("journal: loading the tables", "journal", j.dir, "records", c.records,
				"read", c.read, "of", filesLength, "since", time.Since(start).Round(time.Second))
		}
	}()
	return func() { close(ended) }
}
