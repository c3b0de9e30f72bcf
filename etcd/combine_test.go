package etcd

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A function that encodes, and fails in a transaction that has read nothing, ends that Update, and
// nothing else: the program goes on, and so do others that are to be committed with it.
func TestEncodeFails(t *testing.T) {
	errMine := errors.New("mine")
	s := NewSchema(nil)
	a := NewTable(s, "a", &TableOptions[string, int]{Codec: "mine", Encode: func(v int) ([]byte, error) {
		switch v {
		case 1:
			panic("mine")
		case 2:
			runtime.Goexit()
		}
		return nil, errMine
	}, Decode: func([]byte) (int, error) { return 3, nil }})
	db := replay(t, s)
	db.ctx = t.Context()
	db.slots.init(db)
	set := func(v int) (panicked any, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		defer func() { panicked = recover() }()
		return nil, db.Update(ctx, nil, func(tx mvcc.DBTx) error {
			a.In(tx).Set("x", v)
			return nil
		})
	}
	check := func(v int) {
		panicked, err := set(v)
		switch v {
		case 1:
			require.Equal(t, "mine", panicked)
		case 2:
			require.Contains(t, panicked, "runtime.Goexit")
		default:
			require.ErrorIs(t, err, errMine)
		}
	}
	for v := range 4 {
		check(v)
	}
	var jobs []*job // all at once
	for v := range 4 {
		w, err := db.hooks.Attempt(func(tx mvcc.DBTx) error {
			a.In(tx).Set("x", v)
			return nil
		})
		require.NoError(t, err)
		jobs = append(jobs, &job{ctx: t.Context(), work: w, done: make(chan struct{})})
	}
	db.blind.together(db, jobs)
	for v, j := range jobs {
		<-j.done
		require.Error(t, j.err)
		require.Equal(t, v == 1 || v == 2, j.panicked != nil, v)
	}
}

// All functions that were given to OnCommit are called, though one of them fails.
func TestOnCommitFails(t *testing.T) {
	for name, fail := range map[string]func(){
		"panics": func() { panic("mine") }, "exits": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			calls, back := 0, false
			var panicked any
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { panicked = recover() }()
				f := func(rev uint64) {
					calls++
					fail()
				}
				committed([]func(uint64){f, f, f}, 7)
				back = true
			}()
			<-done
			require.Equal(t, 3, calls)
			require.False(t, back)
			require.Equal(t, name == "panics", panicked == "mine")
		})
	}
}
