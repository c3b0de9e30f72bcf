package cli

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// openTerminal returns both ends of a pseudo-terminal with so many columns: output to
// tty can be read from screen.
func openTerminal(t *testing.T, columns int) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	control := func(request uintptr, arg unsafe.Pointer) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(arg))
		require.Zero(t, errno)
	}
	var locked, n int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&n))
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	size := [4]uint16{40, uint16(columns), 0, 0}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	return screen, tty
}

// onTerminal returns the output of mvccbench to a terminal of so many columns, with both
// outputs there.
func onTerminal(t *testing.T, columns int, args ...string) string {
	t.Helper()
	t.Setenv("TERM", "xterm")
	t.Setenv("COLUMNS", "")
	screen, tty := openTerminal(t, columns)
	said := make(chan string)
	go func() {
		var b bytes.Buffer
		buf := make([]byte, 1<<12)
		for {
			n, err := screen.Read(buf)
			b.Write(buf[:n])
			if err != nil || bytes.Contains(b.Bytes(), []byte("THE END")) {
				said <- b.String()
				return
			}
		}
	}()
	require.Equal(t, ExitOK, Run(t.Context(), args, tty, tty))
	_, err := tty.WriteString("THE END")
	require.NoError(t, err)
	return <-said
}

// redrawn is a line that is redrawn, which is cut off and not wrapped.
var redrawn = regexp.MustCompile("\r\x1b\\[K(\x1b\\[\\?7l[^\n]*?\x1b\\[\\?7h)?")

// On a terminal a run is a line that is redrawn, and at its end tables that fit, with as many engines
// as there is room for.
func TestOnATerminal(t *testing.T) {
	run := []string{"--workload=counter,long-reader", "--engine=mvcc,rwmutex,mvcc-direct,mutex,sync.Map",
		"--threads=1,2", "--count=2", "--ops=200", "--warmup=0", "--http=off"}
	text := onTerminal(t, 80, run...)
	require.Contains(t, text, "\x1b[?7l[ 1/32] ")
	require.NotContains(t, text, "\nBenchmark", "raw lines are for files")
	plain := strings.ReplaceAll(redrawn.ReplaceAllString(text, ""), "\r", "")
	for line := range strings.Lines(plain) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
	}
	require.Equal(t, 1, strings.Count(plain, "ops/s: higher is better"), plain)
	require.Regexp(t, `(?m)^ +threads +mvcc +rwmutex +mvcc has`, plain)
	require.Regexp(t, `\(no room for [12] more\)`, plain, "a mark of noise takes room")
	require.Regexp(t, `(?m)^LongReader +1 `, plain)
	require.Contains(t, plain, "do not tell mvcc and rwmutex apart")
	require.NotContains(t, onTerminal(t, 160, run...), "no room for")

	quiet := onTerminal(t, 80, append(run, "--quiet")...)
	require.NotContains(t, quiet, "\x1b")
	require.Contains(t, quiet, "ops/s: higher is better")
}

func TestTerminal(t *testing.T) {
	require.False(t, isTerminal(&lines{}))
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	require.False(t, isTerminal(f))
	require.Equal(t, anyWidth, terminalWidth(f))
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer device.Close()
	require.False(t, isTerminal(device), "a character device, but no terminal")

	_, tty := openTerminal(t, 100)
	for term, moves := range map[string]bool{"xterm": true, "dumb": false} {
		t.Setenv("TERM", term)
		require.Equal(t, moves, isTerminal(tty))
	}
	t.Setenv("COLUMNS", "")
	require.Equal(t, 100, terminalWidth(tty))
	t.Setenv("COLUMNS", "72")
	require.Equal(t, 72, terminalWidth(tty))
	require.Equal(t, anyWidth, terminalWidth(f),
		"a file has no columns, whatever the environment says")
}
