//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// ttyColumns returns how many columns f has, 0 if it does not tell; ok is false if it is no
// terminal.
func ttyColumns(f *os.File) (columns int, ok bool) {
	var size struct{ rows, columns, width, height uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ,
		uintptr(unsafe.Pointer(&size)))
	return int(size.columns), errno == 0
}
