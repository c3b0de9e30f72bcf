package humanize

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNumbers checks the text for people, where the number of digits or the prefix changes.
func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.00", 1.234: "1.23", 9.996: "10.0", 99.96: "100", 999.4: "999", 999.6: "1.00k",
		12_345: "12.3k", 1.5e6: "1.50M", 2.25e9: "2.25G",
	} {
		require.Equal(t, want, Number(v))
	}
	for d, want := range map[time.Duration]string{
		12: "12 ns", 999: "999 ns", 1_500: "1.50 µs", 999_600: "1.00 ms", 2_500_000: "2.50 ms",
		3 * time.Second: "3.00 s", 99_960 * time.Millisecond: "1m40s", time.Hour: "1h0m0s",
	} {
		require.Equal(t, want, Time(d))
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1.00k"} {
		require.Equal(t, want, Count(n))
	}
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 KB", 12_345: "12.3 KB", 10_000_000: "10.0 MB",
		999_999_999: "1.00 GB",
	} {
		require.Equal(t, want, Bytes(n))
	}
	for share, want := range map[float64]string{0: "0 %", .125: "12 %", .996: "100 %"} {
		require.Equal(t, want, Percent(share))
	}
	for name, want := range map[string]string{
		"main.main":                        "main.main",
		"a.example/b/c.(*T).F":             "c.(*T).F",
		"a/b.(*T[go.shape.int]).F.func1":   "b.(*T[…]).F.func1",
		"a/b.F[c.example/d.K,map[int]e.V]": "b.F[…]",
	} {
		require.Equal(t, want, Func(name))
	}
}

// TestGenericNames: type arguments go, other brackets stay.
func TestGenericNames(t *testing.T) {
	for name, want := range map[string]string{
		"main.main":                         "main.main",
		"a/b.F[go.shape.int,[]c.D[string]]": "a/b.F[...]",
		"a.(*M[go.shape.[4]int]).Get.func1": "a.(*M[...]).Get.func1",
		"a.F[int].G[...].func2":             "a.F[...].G[...].func2",
		"[idle]":                            "[idle]",
		"write [kernel]":                    "write [kernel]",
		"torn[":                             "torn[",
	} {
		require.Equal(t, want, Generic(name))
	}
}
