// Package migrations has tests alone: of backups that are loaded into tables whose types have changed.
// They are apart from those of mvcc since each past form of a record is a type of map more for the
// compiler, and none of them needs a hook or the race detector.
package migrations
