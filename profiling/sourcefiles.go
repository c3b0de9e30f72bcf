package profiling

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/pprof/profile"
)

// keepOwnFiles takes the file names out of p that are not those of source code
// of this program. The source page opens the files that a profile names, so
// what a profile says must not be enough: a name stays only if the symbol table
// of the running program has it for the address in question, it is that of a Go
// file, and there is a regular file under it.
func keepOwnFiles(p *profile.Profile) {
	own := map[*profile.Function]bool{}
	for _, loc := range p.Location {
		var known map[string]bool
		for _, line := range loc.Line {
			if f := line.Function; f != nil && !own[f] && f.Filename != "" {
				if known == nil {
					known = filesAt(uintptr(loc.Address))
				}
				own[f] = known[f.Filename] && isSource(f.Filename)
			}
		}
	}
	for _, f := range p.Function {
		if !own[f] {
			f.Filename = ""
		}
	}
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
