package durable

import (
	"sync"
	"time"
)

// progressLines is how often the logger is told how far Open or Load has got, and progressCalls the
// least time between two calls of Options.Progress.
const (
	progressLines = 5 * time.Second
	progressCalls = 100 * time.Millisecond
)

// A progress counts the records and bytes that Open or Load has read. Only the goroutine of Open or
// Load calls its functions.
type progress struct {
	report func(records int, read, total int64) // nil: the logger is told
	called time.Time                            // when report was called last
	before counted                              // of the files and groups that were read to their end

	mu    sync.Mutex
	now   counted
	lines *time.Timer // of the logger, until the end
}

type counted struct {
	records     int
	read, total int64
}

// expect notes how long the files are that will be read.
func (p *progress) expect(files []FileInfo) {
	p.before = counted{}
	for _, f := range files {
		if f.Used {
			p.before.total += f.Bytes
		}
	}
	p.set(p.before)
}

func (p *progress) set(c counted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = c
}

// reading notes how far the backup or group that is being read has got.
func (p *progress) reading(records int, read int64) {
	c := p.before
	c.records, c.read = c.records+records, c.read+read
	p.set(c)
	if p.report == nil {
		return
	}
	if now := time.Now(); now.Sub(p.called) >= progressCalls {
		p.called = now
		p.report(c.records, min(c.read, c.total), c.total) // others may append to the files
	}
}

// readAll notes that a backup or group was loaded, if err is nil.
func (p *progress) readAll(b Backup, err error) {
	if err != nil {
		return
	}
	p.before.records += b.Records
	p.before.read += b.Bytes
	p.set(p.before)
}

// done reports the end, where all has been read.
func (p *progress) done() {
	if p.report != nil {
		p.report(p.before.records, p.before.total, p.before.total)
	}
}

// lines tells the logger how far the load has got, until the returned function is called.
func (j *Journal) lines() (end func()) {
	if j.progress.report != nil {
		return func() {}
	}
	p, start := &j.progress, time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = time.AfterFunc(progressLines, func() {
		p.mu.Lock()
		c, over := p.now, p.lines == nil
		p.mu.Unlock()
		if over {
			return
		}
		defer func() { // the logger is called once at a time
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.lines != nil {
				p.lines.Reset(progressLines)
			}
		}()
		j.logger().Info("durable: loading the tables", "journal", j.dir, "records", c.records,
			"read", c.read, "of", c.total, "since", time.Since(start).Round(time.Second))
	})
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lines.Stop()
		p.lines = nil
	}
}
