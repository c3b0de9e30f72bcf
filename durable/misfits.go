package durable

import (
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
)

// sameShapes reports whether a table has the shapes that were saved.
func sameShapes(of backupfile.TableHeader, t seam.Table, codec string) bool {
	is := backupfile.Describe(t, codec)
	return !of.KeyShape.IsZero() && of.KeyShape.Same(is.KeyShape) && of.ValueShape.Same(is.ValueShape)
}

// A SchemaError says that the types of a table in the program would lose something of a backup:
// nothing was loaded.
type SchemaError struct {
	Table string
	// Saved and Is are the types of key and value in the backup and in the program.
	Saved, Is [2]string
	// Lost lists the losses, in words.
	Lost []string
}

func (e *SchemaError) Error() string {
	s := fmt.Sprintf("table %q is a Map[%s, %s]", e.Table, e.Is[0], e.Is[1])
	if e.Saved == e.Is {
		s += ", as in the backup"
	} else {
		s += fmt.Sprintf(", and in the backup it is a Map[%s, %s]", e.Saved[0], e.Saved[1])
	}
	if len(e.Lost) > 0 {
		s += ": " + strings.Join(e.Lost, "; ")
	}
	return s + ": see LoadOptions.Migrate and AnyShape"
}

// A VersionError says that the program does not take the version of a backup: nothing was loaded.
type VersionError struct {
	// Saved is [SaveOptions.Version] of the backup; Version and Versions are those of
	// [LoadOptions].
	Saved, Version int
	Versions       []int
	// Backup is 0, or, for a backup of LoadOptions.Then, its number from 1.
	Backup int
	// File is the path of its file, if it is in a journal.
	File string
	_    struct{}
}

func (e *VersionError) Error() string {
	which, more := "the backup", ""
	if e.Backup > 0 {
		which = fmt.Sprintf("the backup Then[%d]", e.Backup-1)
	}
	if len(e.Versions) > 0 {
		more = fmt.Sprintf(", and Versions %d", e.Versions)
	}
	return fmt.Sprintf("the version of %s is %d, and LoadOptions.Version is %d%s", which, e.Saved,
		e.Version, more)
}
