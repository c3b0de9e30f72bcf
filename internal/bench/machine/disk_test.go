package machine

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// files makes a file system of files and returns its root.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

const some = "some avg10=97.67 avg60=97.88 avg300=97.62 total=2000000\n" +
	"full avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n"

// The control group of the program tells; if it does not, the machine, or nobody.
func TestPressure(t *testing.T) {
	machine := map[string]string{
		"proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=7000000\n",
		"proc/pressure/io":  some,
	}
	root := files(t, machine)
	p := FindPressure(root)
	require.Equal(t, "the machine", p.Whose)
	got := p.Read()
	require.Equal(t, 7.0, got.CPU)
	require.Equal(t, 2.0, got.IO)
	require.Equal(t, 0.5, got.AllIO)
	for _, v := range []float64{got.Memory, got.AllMemory, got.Throttled} {
		require.True(t, math.IsNaN(v))
	}

	machine["proc/self/cgroup"] = "1:cpu:/other\n0::/shop.slice/a\n"
	machine["sys/fs/cgroup/shop.slice/a/memory.pressure"] = some
	machine["sys/fs/cgroup/shop.slice/a/cpu.stat"] = "usage_usec 5\nthrottled_usec 1500000\n"
	p = FindPressure(files(t, machine))
	require.Equal(t, "the control group of this program", p.Whose)
	got = p.Read()
	require.Equal(t, 2.0, got.Memory)
	require.Equal(t, 1.5, got.Throttled)
	require.True(t, math.IsNaN(got.CPU))

	p = FindPressure(files(t, nil))
	require.Empty(t, p.Whose)
	require.True(t, math.IsNaN(p.Read().IO))
}

// Disks count, and neither their parts nor disks made of files.
func TestDisks(t *testing.T) {
	root := files(t, map[string]string{
		"proc/self/io": "rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n",
		"proc/diskstats": "   7  0 loop0 1 0 0 1000 0 0 0 0 0 1000 0\n" +
			" 254  0 vda 10 0 80 500 30 0 240 1500 0 700 2000 1 2\n" +
			" 254  1 vda1 10 0 80 500 30 0 240 1500 0 700 2000\n" +
			" 254 16 vdb 1 0 8 1 1 0 8 1 0 2 2\n" +
			" 254 32 vdc x\n",
		"sys/block/vda/device/x": "", "sys/block/vdb/device/x": "", "sys/block/loop0/size": "1",
	})
	io := FindDisks(root).Read()
	require.Equal(t, 4096.0, io.Read)
	require.Equal(t, 8192.0, io.Written)
	require.Equal(t, 42.0, io.Requests)
	require.InDelta(t, 2.002, io.Waited, 1e-9)
	require.Equal(t, map[string]float64{"vda": 0.7, "vdb": 0.002}, io.Busy)
	before := IO{Busy: map[string]float64{"vda": 0.6, "vdb": 0}}
	require.InDelta(t, 0.1, io.BusiestSince(before), 1e-9)
	require.True(t, math.IsNaN(io.BusiestSince(IO{})))

	io = FindDisks(files(t, nil)).Read()
	for _, v := range []float64{io.Read, io.Written, io.Requests, io.Waited, io.BusiestSince(io)} {
		require.True(t, math.IsNaN(v))
	}
}
