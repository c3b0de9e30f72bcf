//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cli

import "os"

// ttyColumns takes a character device for a terminal, one that does not tell how large it is.
func ttyColumns(f *os.File) (columns int, ok bool) {
	info, err := f.Stat()
	return 0, err == nil && info.Mode()&os.ModeCharDevice != 0
}
