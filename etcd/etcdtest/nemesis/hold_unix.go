//go:build unix

package nemesis

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// held has what ends with this program, however that ends, and then lets the process that stands still
// go on: it would not notice by itself.
var held struct {
	sync.Mutex
	by map[int]io.Closer
}

// hold makes a process stand still, or go on.
func hold(pid int, still bool) error {
	held.Lock()
	defer held.Unlock()
	if !still {
		if by := held.by[pid]; by != nil {
			_ = by.Close()
			delete(held.by, pid)
		}
		return syscall.Kill(pid, syscall.SIGCONT)
	}
	cmd := exec.Command("sh", "-c", fmt.Sprintf("trap '' INT; read x; kill -CONT %d 2>/dev/null", pid))
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // the process may be gone by then
	if held.by == nil {
		held.by = map[int]io.Closer{}
	}
	held.by[pid] = in
	return syscall.Kill(pid, syscall.SIGSTOP)
}
