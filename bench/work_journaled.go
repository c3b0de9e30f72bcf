package bench

import (
	"io"
	"os"
)

func journaledWorkloads() []Workload {
	w := transferWorkloads()[0]
	w.Name, w.kind, w.kept = "journaled", journaled, true
	w.Doc = "The same as transfer, while what is committed is kept on disk: each --audit-interval " +
		"somebody " +
		"waits until all that was committed is there, which is the time of an audit, and at the end it " +
		"must be " +
		"what the accounts are. Its figures are to be compared with those of transfer."
	return []Workload{w}
}

// A Keeper is a [Session] whose engine can keep what is committed on disk. Keep is called only if
// [Setup.Kept] is set.
type Keeper interface {
	// Keep keeps it in the folder dir from now on.
	Keep(dir string) (Kept, error)
}

// Kept is an engine that is kept on disk. Close ends that.
type Kept interface {
	io.Closer
	// Sync waits until all is on disk that was committed before.
	Sync() error
	// Load returns what is there, after Close.
	Load() (map[string]uint64, error)
}

type journaledJob struct {
	transferJob
	kept *keptAuditor
}

// auditor begins to keep the accounts.
func (j *journaledJob) auditor(s Session[uint64]) (auditor, error) {
	keeper, ok := s.(Keeper)
	if !ok {
		return nil, errUnsupported
	}
	dir, err := os.MkdirTemp("", "mvccbench-journal-")
	if err != nil {
		return nil, err
	}
	j.kept = &keptAuditor{}
	j.rig.atEnd = func() {
		if j.kept.Kept != nil {
			_ = j.kept.Close() // verify has seen the error
		}
		_ = os.RemoveAll(dir)
	}
	j.kept.Kept, err = keeper.Keep(dir)
	return j.kept, err
}

func (j *journaledJob) verify() error {
	if err := j.added.verify(); err != nil {
		return err
	}
	if err := j.kept.Close(); err != nil {
		return err
	}
	loaded, err := j.kept.Load()
	if err != nil {
		return err
	}
	return j.rig.each(func(k int, v stamp, _ bool) error {
		if is := loaded[j.rig.list[k]]; is != uint64(v) {
			return wrong(j.rig.name(k), "has %d, and what was kept has %d", int64(v), int64(is))
		}
		return nil
	})
}

// keptAuditor waits for the disk.
type keptAuditor struct{ Kept }

func (a *keptAuditor) do() error { return a.Sync() }
