//go:build !unix

package etcdtest

import "testing"

const faults = 3 // a process cannot be stopped

func hold(*testing.T, int, bool) {}
