package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// docs/mutants.md is what "make mutants-table" writes.
func TestTableIsUpToDate(t *testing.T) {
	mutants, err := readMutants(".")
	require.NoError(t, err)
	var page bytes.Buffer
	printMarkdown(&page, mutants)
	committed, err := os.ReadFile("../../docs/mutants.md")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(committed), page.String()), "run make mutants-table")
	for _, m := range mutants {
		require.Contains(t, page.String(), "["+m.name+"]", "want a file called PACKAGE-NAME.patch")
	}
}

// A change that moves code mends the mutants of it: git says which hunk has no place any more.
func TestMutantsApply(t *testing.T) {
	mutants, err := readMutants(".")
	require.NoError(t, err)
	file := regexp.MustCompile(`(?m)^--- a/(\S+)$`)
	for _, m := range mutants {
		for _, name := range file.FindAllSubmatch(m.patch, -1) {
			_, err := os.Stat("../../" + string(name[1])) // so that a result is cached until it changes
			require.NoError(t, err, m.name)
		}
		check := exec.CommandContext(t.Context(), "git", "apply", "--check",
			"internal/mutants/"+m.name+".patch")
		check.Dir = "../.."
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s.patch has to be made anew, see CONTRIBUTING.md: %s", m.name, said)
		}
	}
}
