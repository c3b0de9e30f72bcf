//go:build unix

package durable

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var kills = flag.Int("kills", 30, "how often TestKill kills a process")

// killed is set for the process that is to be killed: it is the folder.
const killed = "MVCCMAP_JOURNAL_TO_BE_KILLED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killed); dir != "" {
		work(dir)
	}
	os.Exit(m.Run())
}

// work commits for ever, and prints the number of each commit that is acknowledged, and at first
// how many there were when it began.
func work(dir string) {
	l := newLedger(nil)
	j, err := Open(context.Background(), l.DB, dir, &Options{Compact: 30_000,
		Every: time.Millisecond})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	n, err := l.check()
	if err != nil {
		fmt.Println("check:", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	say := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(n)
	}
	say(n)
	for w := range 4 {
		go func() {
			for {
				n := l.commit(w)
				if w == 0 { // without
					continue
				}
				if err := j.Sync(context.Background()); err != nil {
					fmt.Println("sync:", err)
					os.Exit(1)
				}
				say(n)
			}
		}()
	}
	select {}
}

// A process that commits is killed at random, again and again: the commits acknowledged in its life
// are there in the next one, and those there are a prefix of all.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	most, lives := 0, 0
	for life := range *kills {
		if life%50 == 49 { // not ever more
			dir, most = t.TempDir(), 0
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killed+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		kill := func() {
			time.AfterFunc(time.Duration(rand.Int64N(int64(60*time.Millisecond))), func() {
				_ = cmd.Process.Kill()
			})
		}
		early := rand.IntN(4) == 0 // perhaps within Open
		if early {
			kill()
		}
		lines := bufio.NewScanner(out)
		for first := true; lines.Scan(); first = false {
			n, err := strconv.Atoi(lines.Text())
			require.NoError(t, err, lines.Text())
			if first && !early {
				kill()
			}
			if first {
				require.GreaterOrEqual(t, n, most, "what was acknowledged is lost")
				lives++
			}
			most = max(most, n)
		}
		_ = cmd.Wait()
	}
	l := newLedger(t)
	opened(t, dir, l, nil, nil)
	l.must(t, most, true)
	t.Logf("%d kills, %d of them after the journal was opened", *kills, lives)
	require.Positive(t, lives)
}
