package pprofui

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/pprof/profile"
)

// keepOwnFiles takes all file names out of p but those of source code of this program. The source
// page opens the files that a profile names, so a name alone is not enough. A name stays only if
// the symbol table of the running program has it for the same address, it is that of a Go file, and
// there is a regular file under it. It returns why most names did not stay, "" if most did.
func keepOwnFiles(p *profile.Profile) (why string) {
	own, named, ours := map[*profile.Function]bool{}, 0, map[*profile.Function]bool{}
	for _, loc := range p.Location {
		var known map[string]bool
		for _, line := range loc.Line {
			if f := line.Function; f != nil && !own[f] && f.Filename != "" {
				if known == nil {
					known = filesAt(uintptr(loc.Address))
				}
				ours[f] = ours[f] || known[f.Filename]
				own[f] = known[f.Filename] && isSource(f.Filename)
			}
		}
	}
	lost, foreign := 0, 0
	for _, f := range p.Function {
		if f.Filename == "" {
			continue
		}
		named++
		if !own[f] {
			f.Filename = ""
			lost++
			if !ours[f] {
				foreign++
			}
		}
	}
	switch {
	case 2*foreign > named:
		return "This is a profile of another build than the program that serves this page, " +
			"which can show the source of its own build only."
	case 2*lost > named:
		return "The source files of the program are not on this machine."
	}
	return ""
}

// filesAt returns the files that the program itself has for the code at and
// before an address: a return address belongs to the call before it.
func filesAt(addr uintptr) map[string]bool {
	files := map[string]bool{}
	if addr == 0 {
		return files
	}
	for _, pc := range []uintptr{addr, addr + 1} { // CallersFrames looks one before
		frames := runtime.CallersFrames([]uintptr{pc})
		for {
			f, more := frames.Next()
			files[f.File] = true
			if !more {
				break
			}
		}
	}
	return files
}

// isSource reports whether the name is that of a Go file that can be opened
// without waiting.
func isSource(name string) bool {
	if filepath.Ext(name) != ".go" || !filepath.IsAbs(name) {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
