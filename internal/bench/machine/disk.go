package machine

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// IO are accounts of disks, which only grow; NaN where the system does not tell.
type IO struct {
	Read, Written float64 // bytes that the disks did for this program
	// How many requests the disks of the machine completed, and how many seconds these took
	// together. Busy has, by the name of a disk, for how many seconds it had requests to complete.
	Requests, Waited float64
	Busy             map[string]float64
}

// Disks reads accounts of disks.
type Disks struct{ root string }

// FindDisks returns the accounts in the file system with that root.
func FindDisks(root string) Disks { return Disks{root} }

// Read reads the accounts. It takes some ten microseconds.
func (d Disks) Read() IO {
	io := IO{Read: math.NaN(), Written: math.NaN(), Requests: math.NaN(), Waited: math.NaN()}
	text, _ := os.ReadFile(filepath.Join(d.root, "proc/self/io"))
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
		switch {
		case err != nil:
		case string(name) == "read_bytes":
			io.Read = float64(n)
		case string(name) == "write_bytes":
			io.Written = float64(n)
		}
	}
	text, _ = os.ReadFile(filepath.Join(d.root, "proc/diskstats"))
	for line := range bytes.Lines(text) {
		io.add(line, d.isDisk)
	}
	return io
}

// add adds a line of /proc/diskstats, if it is of a disk.
func (io *IO) add(line []byte, isDisk func(name string) bool) {
	fields := bytes.Fields(line)
	const name, reads, readMillis, writes, writeMillis, busyMillis = 2, 3, 6, 7, 10, 12
	if len(fields) <= busyMillis || !isDisk(string(fields[name])) {
		return
	}
	var n [busyMillis + 1]float64
	for i := reads; i <= busyMillis; i++ {
		v, err := strconv.ParseUint(string(fields[i]), 10, 64)
		if err != nil {
			return
		}
		n[i] = float64(v)
	}
	if io.Busy == nil {
		io.Busy, io.Requests, io.Waited = map[string]float64{}, 0, 0
	}
	io.Requests += n[reads] + n[writes]
	io.Waited += (n[readMillis] + n[writeMillis]) / 1000
	io.Busy[string(fields[name])] = n[busyMillis] / 1000
}

// isDisk reports whether the name is that of a device. A part of a disk is none, nor is something
// made of other disks or of a file.
func (d Disks) isDisk(name string) bool {
	_, err := os.Stat(filepath.Join(d.root, "sys/block", name, "device"))
	return err == nil
}

// BusiestSince returns for how many seconds since an earlier reading the busiest disk had something
// to do; NaN if no disk is known.
func (io IO) BusiestSince(before IO) float64 {
	most := math.NaN()
	for name, now := range io.Busy {
		if was, ok := before.Busy[name]; ok && !(now-was <= most) {
			most = now - was
		}
	}
	return most
}
