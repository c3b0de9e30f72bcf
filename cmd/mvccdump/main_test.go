//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// binary is the command, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mvccdump")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "mvccdump")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		os.Stderr.Write(out)
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// large returns a backup of which more is printed than a pipe holds.
func large(t *testing.T) string {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[int, []byte](db, "t", nil)
	for i := range 20000 {
		m.Store(i, make([]byte, 1000))
	}
	file := filepath.Join(t.TempDir(), "large.backup")
	_, err := durable.SaveFile(t.Context(), db, file, durable.Gob, nil)
	require.NoError(t, err)
	return file
}

// Who reads only the beginning, as head does, gets no complaint.
func TestBrokenPipe(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary, "dump", large(t))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `{"table":"t","key":`)
	require.NoError(t, stdout.Close())
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, syscall.SIGPIPE, exit.Sys().(syscall.WaitStatus).Signal())
	require.Empty(t, stderr.String())
}

// Ctrl-C ends it, with the code that a shell expects, and without a word.
func TestInterrupt(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary, "dump", large(t))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd.Stdout = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	in := bufio.NewReaderSize(r, 16)
	_, err = in.ReadString('\n') // it prints, and then waits for the reader
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for { // it may wait for the reader
		if _, err := in.ReadString('\n'); err != nil {
			break
		}
	}
	var exit *exec.ExitError
	require.ErrorAs(t, <-ended, &exit)
	require.Equal(t, 130, exit.ExitCode())
	require.Empty(t, stderr.String())
}

// The output device is full: that is an error, and not one of the arguments.
func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no /dev/full here")
	}
	require.NoError(t, err)
	defer full.Close()
	cmd := exec.CommandContext(t.Context(), binary, "dump", large(t))
	cmd.Stdout = full
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, stderr.String(), "no space left")
}
