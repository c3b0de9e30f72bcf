package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseMutants(t *testing.T) {
	const head = "# a-b: a fault\n"
	const good = head + "why: it hurts\n  badly\ntest: x TestA|TestB -tags=t -short -timeout=3s " +
		"-args -s 'a b'\n"
	all, err := parseMutants("f.txt", []byte("// about\n"+good+
		"in: x.F\n- a\n+ \tb\n  c\n...\nin: y.G\n- d\n\n# c-d: x\n"+good[len(head):]+
		"in: x.F\n- a\n"))
	require.ErrorContains(t, err, `f.txt:10: unknown field "..."`)
	require.Len(t, all, 2)
	m := all[0]
	require.Equal(t, []string{"a-b", "a fault", "it hurts badly", "f.txt:2"},
		[]string{m.name, m.title, m.why, m.place})
	require.Equal(t, []edit{{"x.F", "a\nc\n", "b\nc\n"}, {"y.G", "d\n", ""}}, m.edits)
	require.Equal(t, testCommand{
		text: "x TestA|TestB -tags=t -short -timeout=3s -args -s 'a b'", pkg: "x",
		pattern: "^(TestA|TestB)$", tags: "t", limit: 3 * time.Second,
		flags: []string{"-test.short", "-s", "a b"},
	}, m.test)

	const in = "in: x.F\n- a\n"
	for _, c := range []struct{ text, wrong string }{
		{"why: x\n", "above the first heading"},
		{"# A: x\n", "a heading is"},
		{head + in, "it lacks one of the fields"},
		{good, "it lacks one of the fields"},
		{good + "in: x.F\n", "the edit of x.F has no old code"},
		{good + "+ a\n", "an edit begins with"},
		{good + "when: x\n", `unknown field "when"`},
		{head + "why: y\ntest: x X -timeout=long\n" + in, "invalid duration"},
		{head + "why: y\ntest: x -short\n" + in, "is not PACKAGE PATTERN FLAGS"},
		{head + "why: y\ntest: x X -json\n" + in, "flag -json is none of"},
	} {
		_, err := parseMutants("f.txt", []byte(c.text))
		require.ErrorContains(t, err, c.wrong)
		require.ErrorContains(t, err, "f.txt:")
	}
}

func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"TestA":        "^(TestA)$",
		"TestA/ints":   "^(TestA)$/^(ints)$",
		"TestA$/split": "TestA$/split",
	} {
		c := testCommand{text: "x " + text}
		require.NoError(t, c.parse())
		require.Equal(t, want, c.pattern)
	}
}

func TestNamesAreUnique(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"a.txt", "b.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file),
			[]byte("# a-b: x\nwhy: y\ntest: x X\nin: x.F\n- a\n"), 0o644))
	}
	_, err := readMutants(dir)
	require.ErrorContains(t, err, "b.txt:1: a-b is at a.txt:1 too")
}
