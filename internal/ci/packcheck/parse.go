package main

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/mod/modfile"
)

// firstProgram returns the first fenced go block of a Markdown text that is a
// whole program, that is, has a line "package main".
func firstProgram(markdown string) (string, error) {
	var block strings.Builder
	inBlock, isProgram := false, false
	for line := range strings.Lines(markdown) {
		text := strings.TrimSpace(line)
		switch {
		case !inBlock && (text == "```go" || strings.HasPrefix(text, "```go ")):
			inBlock, isProgram = true, false
			block.Reset()
		case inBlock && text == "```":
			if isProgram {
				return block.String(), nil
			}
			inBlock = false
		case inBlock:
			isProgram = isProgram || text == "package main"
			block.WriteString(line)
		}
	}
	return "", errors.New("no ```go block with a package main")
}

// requirements returns the paths that a go.mod file requires.
func requirements(mod []byte) ([]string, error) {
	f, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, r := range f.Require {
		paths = append(paths, r.Mod.Path)
	}
	return paths, nil
}

// sumContents returns the paths of the modules whose contents a go.sum file
// vouches for, leaving out those of which it knows the go.mod alone.
func sumContents(sum []byte) []string {
	var paths []string
	for line := range bytes.Lines(sum) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && !strings.HasSuffix(fields[1], "/go.mod") {
			paths = append(paths, fields[0])
		}
	}
	return paths
}
