//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cli

import "os"

// ttySize takes a character device for a terminal, one that does not tell how large it is.
func ttySize(f *os.File) (columns, rows int, ok bool) {
	info, err := f.Stat()
	return 0, 0, err == nil && info.Mode()&os.ModeCharDevice != 0
}
