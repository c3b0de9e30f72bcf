package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

const jobEnvironment = "MVCCMAP_ETCDBENCH_JOB"

// What other processes do.
const (
	jobWrite = "write" // commits, at a rate
	jobMerge = "merge" // increments of one counter
	jobSTM   = "stm"   // the same by the STM of etcd's client
)

// A job is what another process does until its input ends. It prints a line when it begins, and how
// much it has done a second when it ends.
type job struct {
	Kind       string
	Goroutines int
	Rate       float64
	Endpoints  []string
	Prefix     string
	MaxTxnOps  uint
}

// jobMain does a job, and does not return, if the process was started for that.
func jobMain() {
	text := os.Getenv(jobEnvironment)
	if text == "" {
		return
	}
	signal.Ignore(os.Interrupt) // a terminal sends it to all; the program says when it ends
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcdbench: another process has failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (j job) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	do, err := j.doing(ctx)
	if err != nil {
		return err
	}
	fmt.Println("begins")
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
		time.Sleep(patience)
		os.Exit(1)
	}()
	var done atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, max(j.Goroutines, 1))
	began := time.Now()
	for range max(j.Goroutines, 1) {
		all.Go(func() {
			for next := time.Now(); !over.Load(); done.Add(1) {
				if err := do(); err != nil {
					failed <- err
					return
				}
				if j.Rate > 0 {
					next = next.Add(time.Duration(float64(max(j.Goroutines, 1)) / j.Rate * float64(time.Second)))
					time.Sleep(time.Until(next))
				}
			}
		})
	}
	all.Wait()
	fmt.Println(float64(done.Load()) / time.Since(began).Seconds())
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// doing returns what is done again and again.
func (j job) doing(ctx context.Context) (func() error, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: j.Endpoints, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	if j.Kind == jobSTM {
		key := j.Prefix + "raw/counter"
		return func() error {
			return atomically(ctx, client, func(tx concurrency.STM) error {
				n, _ := strconv.Atoi(tx.Get(key))
				tx.Put(key, strconv.Itoa(n+1))
				return nil
			})
		}, nil
	}
	at := &place{cluster: &cluster{ctx: ctx, flags: flags{MaxTxnOps: j.MaxTxnOps}}, client: client,
		prefix: j.Prefix}
	r, err := openReplica[uint64](at, j.Kind == jobWrite, 0)
	if err != nil {
		return nil, err
	}
	if j.Kind == jobMerge {
		return func() error { return increment(r, "counter") }, nil
	}
	return func() error { return transfer(r, name(1), name(2), 1) }, nil
}

// others starts processes that do a job. What is returned ends them, and returns how much all have done
// a second.
func (f *figures) others(n int, j job) (end func() (float64, error), err error) {
	j.Endpoints, j.Prefix, j.MaxTxnOps = f.at.client.Endpoints(), f.at.prefix, f.cluster.MaxTxnOps
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	type process struct {
		cmd *exec.Cmd
		in  io.Closer
		out *bufio.Scanner
	}
	var all []process
	kill := func() {
		for _, p := range all {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	}
	for range n {
		cmd := exec.CommandContext(f.ctx, self)
		cmd.Env, cmd.Stderr = append(os.Environ(), jobEnvironment+"="+string(text)), os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			kill()
			return nil, err
		}
		all = append(all, process{cmd, in, bufio.NewScanner(out)})
	}
	for _, p := range all {
		if !p.out.Scan() {
			kill()
			return nil, errors.New("another process does not begin")
		}
	}
	return func() (sum float64, err error) {
		for _, p := range all {
			_ = p.in.Close()
		}
		for _, p := range all {
			if p.out.Scan() {
				rate, failed := strconv.ParseFloat(p.out.Text(), 64)
				sum, err = sum+rate, errors.Join(err, failed)
			}
			err = errors.Join(err, p.cmd.Wait())
		}
		return sum, err
	}, nil
}
