//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cli

import "os"

// ttyColumns takes a character device for a terminal, one that does not tell how many columns it
// has.
func ttyColumns(f *os.File) (n int, ok bool) {
	info, err := f.Stat()
	return anyWidth, err == nil && info.Mode()&os.ModeCharDevice != 0
}
