package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/etcd/etcdtest"
)

const arguments = "MVCCMAP_EXAMPLE_ARGS"

func TestMain(m *testing.M) {
	etcdtest.Main()
	if args, is := os.LookupEnv(arguments); is {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		os.Exit(0)
	}
	m.Run()
}

// start runs the program, and returns a function that waits for a line of its output.
func start(t *testing.T, args string) (cmd *exec.Cmd, says func(line string) (parts []string)) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), arguments+"="+args), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return cmd, func(line string) []string {
		for lines.Scan() {
			if parts := regexp.MustCompile(line).FindStringSubmatch(lines.Text()); parts != nil {
				return parts
			}
		}
		require.Fail(t, "it has ended", "and has not said %q", line)
		return nil
	}
}

// A bank and a member are killed, and the others go on.
func TestKilled(t *testing.T) {
	_, members := start(t, "")
	var member int
	_, err := fmt.Sscan(members(`member 0: PID (\d+)`)[1], &member)
	require.NoError(t, err)
	endpoints := members(`example (http.*)`)[1]
	first, one := start(t, endpoints)
	_, two := start(t, endpoints)
	const works = ` [1-9]\d* transfers, \d+ failed, total 100000`
	one(works)
	two(works)
	require.NoError(t, first.Process.Kill())
	killed, err := os.FindProcess(member)
	require.NoError(t, err)
	require.NoError(t, killed.Kill())
	for range 5 {
		two(works)
	}
}
