package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// lean leaves out of files the external tests of packages for which command runs none of them:
// go test would compile them for every mutant, which in mvcc takes longer than the rest.
func lean(root string, files []string, command string) []string {
	run := regexp.MustCompile(`-run[= ]'?([^' ]*)'?`).FindStringSubmatch(command)
	if run == nil {
		return files
	}
	wanted, err := regexp.Compile(run[1])
	if err != nil {
		return files
	}
	needed, external := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || !externalPackage.Match(text) {
			continue
		}
		external[file] = true
		for _, test := range testFunctions.FindAllSubmatch(text, -1) {
			if wanted.Match(test[1]) {
				needed[filepath.Dir(file)] = true
			}
		}
	}
	var some []string
	for _, file := range files {
		if !external[file] || needed[filepath.Dir(file)] {
			some = append(some, file)
		}
	}
	return some
}

var (
	externalPackage = regexp.MustCompile(`(?m)^package \w+_test$`)
	testFunctions   = regexp.MustCompile(`(?m)^func ((?:Test|Example|Benchmark|Fuzz)\w*)\(`)
)
