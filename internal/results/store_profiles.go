package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The profiles of a run are in a folder. Its name has the run's name and a digest of
// the run's file. So a folder belongs to one version of a run, and renaming the file
// replaces both.

// ErrNoProfile is wrapped by the errors of a [Store] if a run does not have a profile
// of that name.
var ErrNoProfile = errors.New("the run has no profile of that name")

// ProfileExtension ends the names of all profiles.
const ProfileExtension = ".pb.gz"

// WholeRun is what the profile of all combinations together is called.
const WholeRun = "whole-run"

// Bounds of what is kept, and read, of one run.
const (
	maxProfile  = 16 << 20 // bytes of a file, compressed
	maxProfiles = 4096     // files
)

// profileNames is what the file of a profile is called: never a path, and nothing
// that a shell would take for something else.
var profileNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=+-]{0,200}\.pb\.gz$`)

// CheckProfileName returns an error, which says what is allowed, if a profile of a
// run cannot have that name.
func CheckProfileName(file string) error {
	if !profileNames.MatchString(file) {
		return fmt.Errorf("expected the name of a profile: letters, digits, dots, dashes, plus, equals "+
			"signs and underscores, ending in %s, not %q", ProfileExtension, file)
	}
	return nil
}

const folderExtension = ".profiles"

// digestLength is the length of the digest in the name of a folder.
const digestLength = 16

func (s *Store) profileDir(name string, record []byte) string {
	sum := sha256.Sum256(record)
	return filepath.Join(s.dir, name+"."+hex.EncodeToString(sum[:])[:digestLength]+folderExtension)
}

// saveProfiles makes a folder of profiles, with all of them or not at all. Without
// profiles it makes none.
func (s *Store) saveProfiles(folder string, profiles map[string][]byte) (err error) {
	if len(profiles) == 0 {
		return nil
	}
	temp, err := os.MkdirTemp(s.dir, ".saving-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for file, data := range profiles {
		if err := CheckProfileName(file); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(temp, file), data, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil { // of a run that was never there
		return err
	}
	return os.Rename(temp, folder)
}

// removeProfiles deletes the folders of the run called name but for one.
func (s *Store) removeProfiles(name, keep string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		digest, ok := strings.CutPrefix(e.Name(), name+".")
		digest, is := strings.CutSuffix(digest, folderExtension)
		folder := filepath.Join(s.dir, e.Name())
		if ok && is && len(digest) == digestLength && e.IsDir() && folder != keep {
			errs = append(errs, os.RemoveAll(folder))
		}
	}
	return errors.Join(errs...)
}

// listProfiles returns the profiles in a folder, by name; none if there is no such
// folder.
func listProfiles(folder string) ([]SavedProfile, error) {
	f, err := os.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxProfiles)
	if err != nil && len(entries) == 0 {
		return nil, nil // an empty folder ends at once
	}
	var list []SavedProfile
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && CheckProfileName(e.Name()) == nil {
			list = append(list, SavedProfile{File: e.Name(), Size: info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b SavedProfile) int { return strings.Compare(a.File, b.File) })
	return list, nil
}

// Profile returns a profile of the run called name: the bytes of the file, whatever
// they are.
func (s *Store) Profile(name, file string) ([]byte, error) {
	if err := errors.Join(CheckName(name), CheckProfileName(file)); err != nil {
		return nil, err
	}
	record, err := s.read(name)
	if err != nil {
		return nil, err
	}
	b, err := readRegular(filepath.Join(s.profileDir(name, record), file), maxProfile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: run %s, profile %s", ErrNoProfile, name, file)
	}
	return b, err
}
